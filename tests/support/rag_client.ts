import assert from "node:assert/strict";
import { assertEventMatchesApi, assertMatchesApi, callersApi, ragApi } from "./rag_api.ts";

export interface AnswerSource {
  readonly id?: string;
  readonly content: string;
  readonly score: number;
}

/** The members of all replies; which of them are there has been held against the description. */
export interface RagBody {
  readonly answer?: string;
  readonly search_query?: string;
  readonly sources?: readonly AnswerSource[];
  readonly tokens_used?: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly status?: string;
  readonly pipelines?: readonly RagPipeline[];
}

export interface RagPipeline {
  readonly name: string;
  readonly description?: string;
  /** Of a health reply `reachable` and `error`, of a stats reply the counts. */
  readonly embedding?: Readonly<Record<string, unknown>>;
  readonly completion?: Readonly<Record<string, unknown>>;
  readonly rerank?: Readonly<Record<string, unknown>>;
  readonly database?: Readonly<Record<string, unknown>>;
  readonly embedding_queue?: {
    readonly waiting: number;
    readonly oldest_seconds: number;
    readonly set_aside: number;
  };
}

export interface RagReply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: RagBody;
}

export interface AnswerEvent {
  readonly type: "chunk" | "done" | "error";
  readonly content?: string;
  readonly error?: string;
  readonly search_query?: string;
  readonly sources?: readonly AnswerSource[];
  readonly tokens_used?: number;
}

export interface RagClientOptions {
  readonly url: string;
  /** For a server whose certificate the system does not know. */
  readonly httpClient?: Deno.HttpClient;
  /** Sent with each request, for a server that asks who is calling; empty: none. */
  readonly token?: string;
}

export type RagClient = ReturnType<typeof createRagClient>;

/** A client of a running RAG server that holds all it gets against the description of the API. */
export function createRagClient({ url, httpClient, token }: RagClientOptions) {
  const api = token === undefined ? ragApi : callersApi;

  function send(path: string, init: RequestInit): Promise<Response> {
    const headers = new Headers(init.headers);
    // a pool may open a connection that it then has no use for, which Deno 2.4 waits for when a server stops
    headers.set("connection", "close");
    if (token && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
    return fetch(`${url}${path}`, {
      ...init,
      headers,
      ...(httpClient === undefined ? {} : { client: httpClient }),
    });
  }

  async function exchange(path: string, init: RequestInit): Promise<RagReply> {
    const response = await send(path, init);
    const text = await response.text();
    assert.equal(response.headers.get("content-type"), "application/json", text);
    assert.equal(response.headers.get("link"), '</v1/openapi.json>; rel="service-desc"');
    const body = JSON.parse(text);
    if (path !== "/v1/openapi.json") assertMatchesApi(init.method ?? "GET", path, response.status, body, api);
    return { status: response.status, headers: response.headers, body };
  }
  const post = (body: unknown, signal?: AbortSignal): RequestInit => ({
    method: "POST",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });

  return {
    url,
    send,
    get: (path: string, headers: HeadersInit = {}) => exchange(path, { headers }),
    request: exchange,
    /** Any reply; `query` is the question, or a body, or its text. */
    post: (pipeline: string, query: unknown, signal?: AbortSignal) =>
      exchange(`/v1/pipelines/${pipeline}`, post(query, signal)),
    /** An answer. */
    async ask(pipeline: string, query: Readonly<Record<string, unknown>>): Promise<RagBody> {
      const { status, body } = await exchange(`/v1/pipelines/${pipeline}`, post(query));
      assert.equal(status, 200, JSON.stringify(body));
      return body;
    },
    /** Asks for a stream, and resolves with its events once its headers are there. */
    async open(pipeline: string, query: Readonly<Record<string, unknown>>, signal?: AbortSignal) {
      const response = await send(`/v1/pipelines/${pipeline}`, post({ ...query, stream: true }, signal));
      assert.equal(response.headers.get("content-type"), "text/event-stream");
      return readAnswerEvents(response);
    },
    /** All events of a stream. */
    async stream(pipeline: string, query: Readonly<Record<string, unknown>>): Promise<AnswerEvent[]> {
      return await Array.fromAsync(await this.open(pipeline, query));
    },
  };
}

/** Events as they arrive; each must be one line of data and a blank one. */
export async function* readAnswerEvents(response: Response): AsyncGenerator<AnswerEvent, void> {
  assert.ok(response.body);
  let rest = "";
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) {
      assert.match(part, /^data: [^\n]*$/);
      const event: AnswerEvent = JSON.parse(part.slice("data: ".length));
      assertEventMatchesApi(event);
      yield event;
    }
  }
  assert.equal(rest, "");
}

/** The answer that a stream's chunks make; fails unless they are followed by one `done` and nothing else. */
export function answerOf(events: readonly AnswerEvent[]): string {
  const chunks = events.slice(0, -1);
  assert.ok(chunks.every(({ type }) => type === "chunk"), JSON.stringify(events));
  assert.equal(events.at(-1)?.type, "done");
  return chunks.map(({ content }) => content).join("");
}
