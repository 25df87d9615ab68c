/** What the console asks the server. All addresses are relative to the page's own. */

export interface Caller {
  readonly kind: "local" | "token" | "session" | "issuer";
  readonly name: string;
  readonly isAdministrator: boolean;
  readonly hasSession: boolean;
}

/** What `GET session` answers. */
export interface Session {
  readonly server: Readonly<Record<"name" | "version", string>>;
  /** `model` is one that writes SQL for words. */
  readonly parts: Readonly<Record<"tools" | "documents" | "model", boolean>>;
  readonly login: Readonly<Record<"oauth" | "accounts" | "tokens", boolean>>;
  readonly addresses: { readonly mcp?: string; readonly rag?: string };
  readonly caller?: Caller;
}

/** Of a part of a pipeline, as `v1/health` tells it, or of a database. */
export interface Reachability {
  /** Undefined for what was not asked yet. */
  readonly reachable?: boolean;
  readonly error?: string | undefined;
}

/** Where MCP clients call: as the server says, else beside this page. */
export function mcpAddress({ addresses }: Pick<Session, "addresses">, page = location.href): string {
  return addresses.mcp ?? new URL("../mcp/v1", page).href;
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

export function setApiToken(token: string | undefined): void {
  apiToken = token;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (apiToken !== undefined) headers.set("authorization", `Bearer ${apiToken}`);
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

/** Between tabs too: a refresh token is good once. Where the context is not secure, there are no locks, and no cookies of ours. */
async function renew(): Promise<boolean> {
  if (apiToken !== undefined) return false;
  const refresh = async () => (await send("session/refresh", { method: "POST" })).ok;
  const { locks } = navigator as { readonly locks?: Locks };
  isRenewing ??= (locks?.request("postern refresh", refresh) ?? refresh()).finally(() => {
    isRenewing = undefined;
  });
  return await isRenewing;
}

/** Of browsers, in a secure context. */
interface Locks {
  request(name: string, work: () => Promise<boolean>): Promise<boolean>;
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
  if (response.status === 401 && path !== "session" && await renew()) response = await send(path, init);
  if (response.ok) return response;
  if (response.status === 401 && path !== "session") listeners.over();
  throw await refusalOf(response);
}

async function refusalOf(response: Response): Promise<Refused> {
  // a proxy's page is no JSON
  const { error } = await response.json().catch(() => ({}));
  const message = error?.message ?? error ?? `The server answered with ${response.status}.`;
  return new Refused(response.status, message, Number(response.headers.get("retry-after")));
}

export async function askJson<T>(path: string, init?: RequestInit): Promise<T> {
  return await (await ask(path, init)).json();
}

export function jsonBody(body: unknown, signal?: AbortSignal): RequestInit {
  return {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal: signal ?? null,
  };
}

let latestId = 0;

export interface RpcReply {
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

/** The whole reply, errors included: for what shows replies as they are. */
export async function rpcReply(method: string, params: object, signal?: AbortSignal): Promise<RpcReply> {
  return await askJson("mcp", jsonBody({ jsonrpc: "2.0", id: ++latestId, method, params }, signal));
}

/** @throws {Refused} with the error's sentence */
export async function rpc<T>(method: string, params: object = {}, signal?: AbortSignal): Promise<T> {
  const { result, error } = await rpcReply(method, params, signal);
  if (error !== undefined) throw new Refused(400, error.message);
  return result as T;
}

interface ToolResult<T> {
  readonly content: readonly { readonly text?: string }[];
  readonly structuredContent: T;
  readonly isError?: boolean;
}

/**
 * What a tool answers, as its output schema has it.
 *
 * @throws {Refused} where the tool refuses or fails, with its sentences
 */
export async function callTool<T>(name: string, args: object, signal?: AbortSignal): Promise<T> {
  const result = await rpc<ToolResult<T>>("tools/call", { name, arguments: args }, signal);
  if (!result.isError) return result.structuredContent;
  throw new Refused(400, result.content.map(({ text = "" }) => text).join("\n\n"));
}

/** All entries of a list that comes in pages, such as `tools` of `tools/list`. */
export async function listAll<T>(method: string, key: string, signal?: AbortSignal): Promise<T[]> {
  const all: T[] = [];
  let cursor: unknown;
  do {
    const page = await rpc<Record<string, unknown>>(method, cursor === undefined ? {} : { cursor }, signal);
    all.push(...page[key] as T[]);
    cursor = page["nextCursor"];
  } while (cursor !== undefined);
  return all;
}
