import assert from "node:assert/strict";

export interface ConsoleReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // deno-lint-ignore no-explicit-any
  json(): any;
}

export const fromPage = { "sec-fetch-site": "same-origin" };

type Init = RequestInit & { headers?: Record<string, string> };

/** Asks a server's console as its page does, and keeps its cookies as a browser does. */
export function createConsoleClient(url: string) {
  const cookies = new Map<string, string>();

  /** @param init.headers `sec-fetch-site` among them where it is not to be the page's own; empty leaves it out */
  async function send(path: string, { headers: given = {}, ...init }: Init = {}): Promise<ConsoleReply> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const all = { ...(cookie === "" ? {} : { cookie }), ...fromPage, ...given };
    const headers = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ""));
    const response = await fetch(`${url}/console/${path}`, { redirect: "manual", ...init, headers });
    const text = await response.text();
    for (const line of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      assert.match(line, /; HttpOnly(?:;|$)/);
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
    return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
  }

  function post(path: string, value: unknown, headers: Record<string, string> = {}): Promise<ConsoleReply> {
    return send(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(value),
    });
  }

  return {
    cookies,
    send,
    post,
    /** Runs a statement through `/console/mcp`. */
    query(query: string, headers: Record<string, string> = {}): Promise<ConsoleReply> {
      const params = { name: "query_database", arguments: { query } };
      return post("mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, headers);
    },
  };
}

export type ConsoleClient = ReturnType<typeof createConsoleClient>;
