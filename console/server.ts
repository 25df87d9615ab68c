/** What the console asks the server. All addresses are relative to the page's own. */

export interface Caller {
  readonly kind: "local" | "token" | "session" | "issuer";
  readonly name: string;
  readonly isAdministrator: boolean;
  readonly hasSession: boolean;
}

/** What `GET session` answers. */
export interface Session {
  readonly server: { readonly name: string; readonly version: string };
  readonly parts: { readonly tools: boolean; readonly documents: boolean };
  readonly login: {
    readonly oauth: boolean;
    readonly accounts: boolean;
    readonly tokens: boolean;
  };
  readonly addresses: { readonly mcp?: string; readonly rag?: string };
  readonly caller?: Caller;
}

/** A request that was not answered as hoped; `message` is a sentence for people. */
export class Refused extends Error {
  constructor(readonly status: number, message: string, readonly retryAfterSeconds?: number) {
    super(message);
  }
}

/** An API token is kept here alone: it is gone when the page is. */
let apiToken: string | undefined;
let isRenewing: Promise<boolean> | undefined;

const listeners = { over: () => {}, away: (_isAway: boolean) => {} };

/** Told when the session is over, and when the server goes away and comes back. */
export function watchServer(watch: typeof listeners): void {
  Object.assign(listeners, watch);
}

export function useApiToken(token: string | undefined): void {
  apiToken = token;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (apiToken !== undefined) {
    headers.set("authorization", `Bearer ${apiToken}`);
  }
  try {
    const response = await fetch(path, { ...init, headers });
    listeners.away(false);
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    listeners.away(true);
    throw new Refused(0, "The server cannot be reached.");
  }
}

/** Between tabs too: a refresh token is good once. */
async function renew(): Promise<boolean> {
  if (apiToken !== undefined) return false;
  isRenewing ??= oneAtATime(() => send("session/refresh", { method: "POST" }).then(({ ok }) => ok)).finally(
    () => {
      isRenewing = undefined;
    },
  );
  return await isRenewing;
}

/** Where the page's context is not secure, there are no locks, and no cookies of ours. */
async function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  return navigator.locks === undefined
    ? await work()
    : await navigator.locks.request("postern refresh", work);
}

/** Who looks, with a session renewed whose access token has ended. */
export async function readSession(): Promise<Session> {
  const session = await askJson<Session>("session");
  if (session.caller !== undefined || !session.login.oauth || !await renew()) return session;
  return await askJson<Session>("session");
}

/** @throws {Refused} where the answer is no success */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  let response = await send(path, init);
  if (response.status === 401 && path !== "session" && await renew()) {
    response = await send(path, init);
  }
  if (response.ok) return response;
  if (response.status === 401 && path !== "session") listeners.over();
  throw await refusalOf(response);
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text();
  let message: string | undefined;
  try {
    const { error } = JSON.parse(text);
    message = typeof error === "string" ? error : error?.message;
  } catch {
    // a proxy's page, perhaps
  }
  const wait = Number(response.headers.get("retry-after"));
  return new Refused(
    response.status,
    message ?? `The server answered with ${response.status}.`,
    wait || undefined,
  );
}

export async function askJson<T>(path: string, init?: RequestInit): Promise<T> {
  return await (await ask(path, init)).json();
}

export function jsonBody(body: unknown, signal?: AbortSignal): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    ...(signal && { signal }),
  };
}

let latestId = 0;

/** A call as it is sent to `mcp/v1`. */
export function rpcRequest(method: string, params: object) {
  return { jsonrpc: "2.0", id: ++latestId, method, params };
}

/** The whole reply, errors included: for what shows replies as they are. */
export async function rpcReply(request: object, signal?: AbortSignal): Promise<RpcReply> {
  return await askJson("mcp", jsonBody(request, signal));
}

export interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** @throws {Refused} with the error's sentence */
export async function rpc<T>(method: string, params: object = {}, signal?: AbortSignal): Promise<T> {
  const { result, error } = await rpcReply(rpcRequest(method, params), signal);
  if (error !== undefined) throw new Refused(400, error.message);
  return result as T;
}

export interface ToolResult {
  readonly content: readonly {
    readonly type: string;
    readonly text?: string;
    readonly uri?: string;
  }[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** @throws {Refused} where the tool refuses or fails, with its sentences */
export async function callTool(name: string, args: object, signal?: AbortSignal): Promise<ToolResult> {
  const result = await rpc<ToolResult>("tools/call", { name, arguments: args }, signal);
  if (result.isError) {
    throw new Refused(400, result.content.map(({ text = "" }) => text).join("\n\n"));
  }
  return result;
}

/** All entries of a list that comes in pages, such as `tools` of `tools/list`. */
export async function listAll<T>(method: string, key: string, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  do {
    const page: Record<string, unknown> = await rpc(method, cursor === undefined ? {} : { cursor }, signal);
    all.push(...page[key] as T[]);
    cursor = page["nextCursor"] as string | undefined;
  } while (cursor !== undefined);
  return all;
}
