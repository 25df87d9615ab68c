import assert from "node:assert/strict";

export interface ToolReply {
  readonly text: string;
  readonly isError: boolean;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A program that speaks bare JSON-RPC to `/mcp/v1`, as the document shows it. */
export function createToolClient(options: { url: string; token?: string; client?: Deno.HttpClient }) {
  const headers = {
    "content-type": "application/json",
    ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
  };

  function post(body: BodyInit, init: RequestInit = {}): Promise<Response> {
    return fetch(`${options.url}/mcp/v1`, {
      method: "POST",
      body,
      ...init,
      headers: { ...headers, ...init.headers },
      ...(options.client === undefined ? {} : { client: options.client }),
    });
  }

  async function request(method: string, params: unknown, init: RequestInit = {}) {
    const response = await post(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }), init);
    return await response.json();
  }

  async function call(name: string, args: unknown, init: RequestInit = {}): Promise<ToolReply> {
    const reply = await request("tools/call", { name, arguments: args }, init);
    assert.ok(reply.result, JSON.stringify(reply));
    return {
      text: reply.result.content[0].text,
      isError: reply.result.isError ?? false,
      data: reply.result.structuredContent ?? {},
    };
  }

  return { post, request, call };
}
