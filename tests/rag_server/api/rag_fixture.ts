import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import { createSharedDeadline } from "../../../src/core/async/deadline.ts";
import type { AuditEvent } from "../../../src/audit/audit_trail.ts";
import type { Calls, CallsOptions } from "../../../src/calls/calls.ts";
import type { Authentication } from "../../../src/identity/authentication.ts";
import { createRagRoutes, type RagRoutesOptions } from "../../../src/rag_server/api/rag_routes.ts";
import type { RunningPipelines } from "../../../src/rag_server/running_pipelines.ts";
import { createCrossOrigin } from "../../../src/http/cross_origin.ts";
import { createHostCheck } from "../../../src/http/host_and_origin.ts";
import { behindFront } from "../../support/front.ts";
import { recordCalls } from "../../support/recorded_calls.ts";
import {
  type ApiDocument,
  assertEventMatchesApi,
  assertMatchesApi,
  callersApi,
  claimsApi,
  ragApi,
  tokensApi,
} from "../../support/rag_api.ts";

export interface RagReply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface RagFixture {
  fetch(request: Request): Response | Promise<Response>;
  /** Sends a request, and holds the reply against the description of the API. */
  send(method: string, path: string, init?: { body?: BodyInit; headers?: HeadersInit }): Promise<RagReply>;
  /** A query to the pipeline `handbook`; `query` is a body, or what becomes one. */
  ask(query: unknown, signal?: AbortSignal): Promise<RagReply>;
  readonly calls: Calls;
  /** What was logged, each as one JSON object. */
  readonly log: readonly string[];
  /** What the audit trail has. */
  readonly lines: readonly AuditEvent[];
  /** The pipeline of each question, and how it ended. */
  readonly counted: readonly string[];
}

export interface RagFixtureOptions {
  readonly pipelines: RunningPipelines;
  readonly requestTimeoutMs?: number;
  readonly allowedOrigins?: readonly string[];
  /** Where it listens; on every interface where it is absent. */
  readonly listenAddress?: string;
  readonly allowedHosts?: readonly string[];
  /** Everyone may ask where it is absent. */
  readonly authentication?: Authentication;
  readonly forwardedIdentity?: RagRoutesOptions["forwardedIdentity"];
  readonly quotas?: RagRoutesOptions["quotas"] & CallsOptions["quotas"];
}

/** The RAG server's routes over pipelines of a test. */
export function createRagFixture(options: RagFixtureOptions): RagFixture {
  const { pipelines, requestTimeoutMs = 60_000, allowedOrigins } = options;
  const address = { host: options.listenAddress ?? "0.0.0.0", port: 8080 };
  const { authentication } = options;
  const api = options.forwardedIdentity !== undefined
    ? claimsApi
    : authentication === undefined
    ? ragApi
    : authentication.login
    ? callersApi
    : tokensApi;
  const log: string[] = [];
  const { calls, lines, counted } = recordCalls({ quotas: options.quotas });
  const bodyTimeout = createSharedDeadline(60_000);
  bodyTimeout.close();
  const served = createRagRoutes({
    authentication,
    forwardedIdentity: options.forwardedIdentity,
    pipelines,
    calls,
    requestTimeoutMs,
    bodyTimeout,
    version: "1.2.3",
    quotas: options.quotas,
    logger: createLogger({
      level: "debug",
      format: "json",
      write: (line) => log.push(line.trimEnd()),
      now: () => new Date(0),
    }),
  });

  const hostIsAllowed = createHostCheck({ address, allowedHosts: options.allowedHosts ?? [] });
  const fetch = behindFront({ served, authentication }, {
    checkHostAndOrigin: (request) => hostIsAllowed(request) ? undefined : "host",
    crossOrigin: allowedOrigins && createCrossOrigin("rag_server", allowedOrigins),
  });

  async function exchange(request: Request): Promise<RagReply> {
    const response = await fetch(request);
    const reply = { status: response.status, headers: response.headers, text: await response.text() };
    checkReply(request, reply, api);
    return reply;
  }
  return {
    fetch,
    send: (method, path, init) => exchange(new Request(`http://localhost${path}`, { method, ...init })),
    ask: (query, signal) =>
      exchange(
        new Request("http://localhost/v1/pipelines/handbook", {
          method: "POST",
          body: typeof query === "string" ? query : JSON.stringify(query),
          ...(signal === undefined ? {} : { signal }),
        }),
      ),
    calls,
    log,
    lines,
    counted,
  };
}

function checkReply({ method, url }: Request, { status, headers, text }: RagReply, api: ApiDocument): void {
  if (headers.get("content-type") === "text/event-stream") {
    return readEvents(text).forEach(assertEventMatchesApi);
  }
  if (status === 204 || status === 499) return assert.equal(text, "");
  assert.equal(headers.get("content-type"), "application/json");
  assert.equal(headers.get("link"), '</v1/openapi.json>; rel="service-desc"');
  if (method === "HEAD") return assert.equal(text, "");
  assertMatchesApi(method, new URL(url).pathname, status, JSON.parse(text), api);
}

/** The events of a stream, each of which must be one line of data and a blank one. */
export function readEvents(text: string): unknown[] {
  if (text === "") return [];
  assert.ok(text.endsWith("\n\n"));
  return text.slice(0, -2).split("\n\n").map((event) => {
    assert.match(event, /^data: [^\n]*$/);
    return JSON.parse(event.slice("data: ".length));
  });
}
