import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { writeUsers } from "./accounts.ts";
import { type ConfigFolder, createConfigFolder } from "./configured_server.ts";
import { type ServerProcess, startServer } from "./server_process.ts";
import { freePort } from "./token_issuer.ts";

/** The address at which the client of these tests waits for its code; nobody listens there. */
export const redirectUri = "http://127.0.0.1:45678/callback";

export interface OauthServer extends AsyncDisposable {
  readonly folder: ConfigFolder;
  readonly issuer: string;
  server(): ServerProcess;
  restart(): Promise<void>;
}

/**
 * A server with the built-in authorization server and the accounts `alice`, `bob` and `carol`.
 *
 * @param options.flags besides those that let it serve tools
 */
export async function startOauthServer(
  {
    config = "databases: []",
    oauth = "",
    auth = {},
    flags = [],
    files = {},
    port = freePort(),
    accounts = ["alice", "bob", "carol"],
  }: {
    port?: number;
    accounts?: readonly string[];
    config?: string;
    oauth?: string;
    /** Settings of `http.auth` besides. */
    auth?: Readonly<Record<string, unknown>>;
    flags?: readonly string[];
    files?: Readonly<Record<string, string>>;
  } = {},
): Promise<OauthServer> {
  const issuer = `http://127.0.0.1:${port}`;
  const folder = await createConfigFolder(`${config}
data_dir: data
audit: { file: audit.log }
http:
  auth:
    oauth: { issuer: "${issuer}", ${oauth} }
${Object.entries(auth).map(([name, value]) => `    ${name}: ${JSON.stringify(value)}\n`).join("")}`);
  if (accounts.length > 0) await writeUsers(folder, accounts);
  for (const [name, text] of Object.entries(files)) {
    await Deno.writeTextFile(join(folder.path, name), text, { mode: 0o600 });
  }
  const start = () =>
    startServer(["-http", "-addr", `127.0.0.1:${port}`, "-config", folder.configFile, ...flags]);
  let server = await start();
  return {
    folder,
    issuer,
    server: () => server,
    async restart() {
      assert.equal(await server.stop(), 0, server.stderr());
      server = await start();
    },
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

export interface OpenPage {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  readonly html: string;
}

/**
 * Opens pages and sends their forms, as a browser without scripts does; it stops at an address of another server.
 * @param follows whether it opens an address of this one; every one where absent
 * @param others further servers whose addresses it opens
 */
export function createFormBrowser(
  origin: string,
  follows: (url: string) => boolean = () => true,
  others: readonly string[] = [],
) {
  // by name and path: of two logins at once each has a cookie of its own (RFC 6265, section 5.3)
  const cookies = new Map<string, { name: string; value: string; path: string }>();

  async function request(url: string, init: RequestInit = {}): Promise<OpenPage> {
    const { pathname, origin: target } = new URL(url);
    const isOpened = target === origin || others.includes(target);
    if (!isOpened || !follows(url)) return { url, status: 0, headers: new Headers(), html: "" };
    const cookie = [...cookies].filter(([, { path }]) => pathname.startsWith(path))
      .toSorted(([, one], [, other]) => other.path.length - one.path.length)
      .map(([, { name, value }]) => `${name}=${value}`).join("; ");
    const response = await fetch(url, {
      ...init,
      redirect: "manual",
      headers: { accept: "text/html", ...init.headers, ...(cookie === "" ? {} : { cookie }) },
    });
    for (const line of response.headers.getSetCookie()) keep(line);
    const html = await response.text();
    const location = response.headers.get("location");
    if (location !== null) return await request(new URL(location, url).href);
    if (response.headers.get("content-type")?.startsWith("text/html")) assertNoScript(response.headers, html);
    return { url, status: response.status, headers: response.headers, html };
  }

  function keep(line: string): void {
    const [pair = "", ...attributes] = line.split("; ");
    const [name = "", value = ""] = pair.split(/=(.*)/s);
    const path = attributes.find((each) => each.toLowerCase().startsWith("path="))?.slice(5) ?? "/";
    assert.match(line, /; httponly/i);
    assert.match(line, /; samesite=lax/i);
    if (value === "") cookies.delete(`${name} ${path}`);
    else cookies.set(`${name} ${path}`, { name, value, path });
  }

  return {
    cookies: () => [...cookies.values()],
    open: (url: string) => request(url),
    /** Sends the form of a page with what its user filled in, and the hidden fields. */
    submit(
      page: OpenPage,
      fields: Record<string, string>,
      headers: Record<string, string> = {},
    ): Promise<OpenPage> {
      const action = /<form method="post" action="([^"]+)">/.exec(page.html)?.[1];
      assert.ok(action !== undefined, page.html);
      const hidden = [...page.html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g)]
        .map(([, name = "", value = ""]) => [name, value]);
      return request(new URL(action, page.url).href, {
        method: "POST",
        headers: { "content-type": "application/x-www-form-urlencoded", origin, ...headers },
        body: new URLSearchParams([...hidden, ...Object.entries(fields)]).toString(),
      });
    },
  };
}

/** Of every page that a test opens. */
function assertNoScript(headers: Headers, html: string): void {
  assert.doesNotMatch(html, /<script|<[^>]*\son\w+\s*=|javascript:/i);
  const policy = headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; img-src 'self'; style-src 'sha256-[^']+'; form-action 'self'/);
  assert.match(policy, /; frame-ancestors 'none'; base-uri 'none'$/);
  assert.doesNotMatch(policy, /script-src|unsafe/);
}

export type FormBrowser = ReturnType<typeof createFormBrowser>;

/** A client that registers itself, and asks for codes and tokens by hand. */
export async function createOauthClient(issuer: string, metadata: Record<string, unknown> = {}) {
  const registered = await post(`${issuer}/oauth/register`, {
    redirect_uris: [redirectUri],
    client_name: "Test",
    ...metadata,
  });
  assert.equal(registered.status, 201, JSON.stringify(registered.body));
  const clientId = String(registered.body["client_id"]);
  return oauthClientOf(issuer, clientId);
}

export function oauthClientOf(issuer: string, clientId: string) {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const token = (fields: Record<string, string>) =>
    postForm(`${issuer}/oauth/token`, { client_id: clientId, ...fields });
  return {
    clientId,
    authorizeUrl(changes: Record<string, string | undefined> = {}): string {
      const params = {
        response_type: "code",
        client_id: clientId,
        redirect_uri: redirectUri,
        code_challenge: challenge,
        code_challenge_method: "S256",
        state: "a state",
        ...changes,
      };
      const given = Object.entries(params).filter((entry): entry is [string, string] =>
        entry[1] !== undefined
      );
      return `${issuer}/oauth/authorize?${new URLSearchParams(given)}`;
    },
    token,
    exchange: (code: string) =>
      token({ grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier }),
    refresh: (refreshToken: string) => token({ grant_type: "refresh_token", refresh_token: refreshToken }),
    revoke: (value: string) => postForm(`${issuer}/oauth/revoke`, { client_id: clientId, token: value }),
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function post(url: string, value: unknown): Promise<Answer> {
  return await answerOf(
    await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(value),
    }),
  );
}

export async function postForm(url: string, fields: Record<string, string>): Promise<Answer> {
  return await answerOf(await fetch(url, { method: "POST", body: new URLSearchParams(fields) }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === "" ? {} : JSON.parse(text) };
}
