import assert from "node:assert/strict";
import { waitUntil } from "./wait_until.ts";

/** A span as OTLP's JSON has it, in what tests look at. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** 1 internal, 2 server, 3 client. */
  readonly kind: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  /** 2: error. */
  readonly status: number;
  readonly startNs: bigint;
  readonly endNs: bigint;
}

export interface Collector extends AsyncDisposable {
  readonly url: string;
  /** Everything that came, in the order of its coming. */
  readonly spans: readonly CollectedSpan[];
  readonly resources: readonly Readonly<Record<string, unknown>>[];
  readonly requests: readonly { readonly path: string; readonly headers: Headers }[];
  /** What came, as it came. */
  text(): string;
  /** From now on it answers with this status; 0: not at all. */
  answer(status: number): void;
  /** Waits until a span came that fits, and returns the trace's. */
  traceWith(fits: (span: CollectedSpan) => boolean): Promise<readonly CollectedSpan[]>;
}

interface WireValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
}
interface WireAttribute {
  readonly key: string;
  readonly value: WireValue;
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly attributes: readonly WireAttribute[];
  readonly links?: CollectedSpan["links"];
  readonly status: { readonly code?: number };
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
}
interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

/** A collector on this machine that takes OTLP over HTTP, in JSON. */
export function createCollector(tls?: { readonly cert: string; readonly key: string }): Collector {
  const spans: CollectedSpan[] = [];
  const resources: Readonly<Record<string, unknown>>[] = [];
  const requests: { path: string; headers: Headers }[] = [];
  const bodies: string[] = [];
  const closing = new AbortController();
  let status = 200;

  async function take(request: Request): Promise<Response> {
    requests.push({ path: new URL(request.url).pathname, headers: request.headers });
    const body = await request.text();
    if (status === 0) await new Promise((resolve) => closing.signal.addEventListener("abort", resolve));
    if (status !== 200) return new Response("no", { status: status || 503 });
    bodies.push(body);
    assert.equal(request.headers.get("content-type"), "application/json");
    const { resourceSpans }: WireRequest = JSON.parse(body);
    for (const { resource, scopeSpans } of resourceSpans) {
      resources.push(recordOf(resource.attributes));
      for (const { spans: wire } of scopeSpans) spans.push(...wire.map(spanOf));
    }
    return Response.json({});
  }

  const options = { hostname: "127.0.0.1", port: 0, onListen: () => {} };
  const server = Deno.serve({ ...options, ...tls }, take);
  const scheme = tls === undefined ? "http" : "https";
  return {
    url: `${scheme}://${tls === undefined ? "127.0.0.1" : "localhost"}:${server.addr.port}`,
    spans,
    resources,
    requests,
    text: () => bodies.join("\n"),
    answer: (next) => void (status = next),
    async traceWith(fits) {
      await waitUntil("the span came", () => spans.some(fits));
      const { traceId } = spans.find(fits) ?? {};
      return spans.filter((span) => span.traceId === traceId);
    },
    async [Symbol.asyncDispose]() {
      closing.abort();
      await server.shutdown();
    },
  };
}

function spanOf(wire: WireSpan): CollectedSpan {
  const { traceId, spanId, parentSpanId, name, kind, links = [], status } = wire;
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    attributes: recordOf(wire.attributes),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    status: status.code ?? 0,
    startNs: BigInt(wire.startTimeUnixNano),
    endNs: BigInt(wire.endTimeUnixNano),
  };
}

function recordOf(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
      key,
      stringValue ?? (intValue === undefined ? doubleValue ?? boolValue : Number(intValue)),
    ]),
  );
}

/** The tree of a trace: each span's name with those below it, in the order of their beginning. */
export function treeOf(spans: readonly CollectedSpan[], parentSpanId?: string): unknown[] {
  const isRoot = ({ parentSpanId: id }: CollectedSpan) =>
    parentSpanId === undefined ? !spans.some(({ spanId }) => spanId === id) : id === parentSpanId;
  return spans.filter(isRoot)
    .toSorted((one, other) => Number(one.startNs - other.startNs))
    .map(({ name, spanId }) => {
      const below = treeOf(spans, spanId);
      return below.length === 0 ? name : [name, ...below];
    });
}
