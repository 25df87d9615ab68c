import { defined } from "../../core/defined.ts";
import {
  type Link,
  type SpanContext,
  SpanKind as SdkKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import { JsonTraceSerializer } from "@opentelemetry/otlp-transformer";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { BatchSpanProcessor, RandomIdGenerator, type ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Config } from "../../config/mod.ts";
import { settlesWithin } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import {
  type NewSpan,
  readTraceparent,
  type RemoteSpan,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type Tracer,
} from "../../core/tracing.ts";
import { readAuthorities } from "../tls_files.ts";
import { redactText } from "../../core/text/redact.ts";

/** Spans that wait for the collector; those that end while so many wait are lost. Some 2 KB each. */
const maxWaiting = 2_048;
/** Spans sent at once: to write so many holds up everything else for about a millisecond. */
const maxSentAtOnce = 256;
const sendEveryMs = 1_000;
/** For one batch with its retries. */
const sendTimeoutMs = 10_000;
/** How long a stop waits for the collector to take what is left. */
const lastSendMs = 3_000;
/** UTF-16 units; what is longer is cut. */
const longestText = 8_192;

interface ExportTracesOptions extends Omit<Config["traces"], "endpoint"> {
  readonly endpoint: string;
  readonly version: string;
  readonly logger: Logger;
}

/**
 * Traces calls and sends them to a collector, by OTLP over HTTP. It waits for nothing: what the collector does not take in
 * time is lost, and the log says so when that begins and ends. Disposing of it sends what is left.
 *
 * @throws {AppError} `invalid`, naming `traces.ca_file` where that cannot be used
 */
export async function exportTraces(options: ExportTracesOptions): Promise<Tracer & AsyncDisposable> {
  const { ca_file, sample_ratio, follow_callers, version, logger } = options;
  const ca = ca_file === undefined ? undefined : await readAuthorities(ca_file, "traces.ca_file");
  const url = tracesUrl(options.endpoint);
  const collector = connectCollector(url, options.headers ?? {}, ca);
  const queue = createQueue(collector, url, logger);
  // a variable that is meant for other programs may have asked for it
  logger.info(`traces are sent to ${url}`);
  const origin: Origin = {
    resource: resourceFromAttributes({
      "service.name": options.service_name,
      "service.version": version,
      "service.instance.id": crypto.randomUUID(),
    }),
    scope: { name: "postern", version },
    includesTexts: options.include_texts,
    onEnd: queue.add,
  };
  return {
    followsCallers: follow_callers,
    begin(traceparent, describe) {
      const parent = follow_callers ? readTraceparent(traceparent) : undefined;
      if (parent === undefined ? Math.random() >= sample_ratio : !parent.isSampled) return undefined;
      const clockOffsetMs = Date.now() - performance.now();
      return new RecordedSpan(describe(), parent && contextOf(parent), origin, clockOffsetMs);
    },
    async [Symbol.asyncDispose]() {
      const isSent = await settlesWithin(lastSendMs, queue.close().catch(() => {}));
      // what is cut off now is told of once
      if (!isSent) queue.giveUp();
      collector.close();
      if (isSent) return;
      logger.warn("The last traces are lost: the collector does not take them", { endpoint: url });
    },
  };
}

/** As the standard variables have it, an address without the path of traces. */
function tracesUrl(endpoint: string): string {
  return /\/traces\/?$/.test(endpoint) ? endpoint : `${endpoint.replace(/\/+$/, "")}/v1/traces`;
}

const kinds: Readonly<Record<SpanKind, SdkKind>> = {
  internal: SdkKind.INTERNAL,
  server: SdkKind.SERVER,
  client: SdkKind.CLIENT,
};

function contextOf({ traceId, spanId }: Pick<RemoteSpan, "traceId" | "spanId">): SpanContext {
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Seconds and nanoseconds. @param ms since 1970 */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1_000_000)];
}

/** What the spans of a process have in common. */
interface Origin {
  readonly resource: ReadableSpan["resource"];
  readonly scope: ReadableSpan["instrumentationScope"];
  readonly includesTexts: boolean;
  readonly onEnd: (span: ReadableSpan) => void;
}

const ids = new RandomIdGenerator();
const none: [] = [];
const unset: SpanStatus = { code: SpanStatusCode.UNSET };
const failed: SpanStatus = { code: SpanStatusCode.ERROR };

/** A span as the exporter reads it. The SDK's own keeps and checks more, and takes twice the time. */
class RecordedSpan implements Span, ReadableSpan {
  readonly name: string;
  readonly kind: SdkKind;
  readonly attributes: Record<string, string | number | boolean> = {};
  readonly links: Link[];
  readonly startTime: [number, number];
  endTime: [number, number] = [0, 0];
  status = unset;
  ended = false;
  readonly parentSpanContext?: SpanContext;
  private readonly context: SpanContext;

  constructor(
    { name, kind, attributes, link }: NewSpan,
    parent: SpanContext | undefined,
    private readonly origin: Origin,
    /** Of the wall clock over the one that never goes back; the same for the whole trace, so that its times fit. */
    private readonly clockOffsetMs: number,
  ) {
    this.name = name;
    this.kind = kinds[kind];
    this.links = link instanceof RecordedSpan ? [{ context: link.context }] : none;
    this.context = {
      traceId: parent?.traceId ?? ids.generateTraceId(),
      spanId: ids.generateSpanId(),
      traceFlags: TraceFlags.SAMPLED,
    };
    if (parent !== undefined) this.parentSpanContext = parent;
    this.set(attributes);
    this.startTime = timeOf(performance.now() + clockOffsetMs);
  }

  get traceId(): string {
    return this.context.traceId;
  }
  get traceparent(): string {
    return `00-${this.context.traceId}-${this.context.spanId}-01`;
  }
  begin(name: string, kind: SpanKind = "internal", attributes: SpanAttributes = {}): Span {
    return new RecordedSpan({ name, kind, attributes }, this.context, this.origin, this.clockOffsetMs);
  }
  set(attributes: SpanAttributes): void {
    for (const key in attributes) {
      const value = attributes[key];
      if (value !== undefined) this.attributes[key] = value;
    }
  }
  setText(name: string, text: () => string): void {
    if (this.origin.includesTexts) this.attributes[name] = redactText(text()).slice(0, longestText);
  }
  end(error?: string): void {
    // a reply may end twice: its reader leaves after its end
    if (this.ended) return;
    this.ended = true;
    if (error !== undefined) {
      this.attributes["error.type"] = error;
      this.status = failed;
    }
    this.endTime = timeOf(performance.now() + this.clockOffsetMs);
    this.origin.onEnd(this);
  }

  spanContext(): SpanContext {
    return this.context;
  }
  get resource(): Origin["resource"] {
    return this.origin.resource;
  }
  get instrumentationScope(): Origin["scope"] {
    return this.origin.scope;
  }
  get duration(): [number, number] {
    const [[from, fromNs], [to, toNs]] = [this.startTime, this.endTime];
    return toNs < fromNs ? [to - from - 1, toNs - fromNs + 1e9] : [to - from, toNs - fromNs];
  }
  get events(): [] {
    return none;
  }
  get droppedAttributesCount(): number {
    return 0;
  }
  get droppedEventsCount(): number {
    return 0;
  }
  get droppedLinksCount(): number {
    return 0;
  }
}

type Collector = ReturnType<typeof connectCollector>;
type Sent = { readonly ok: true } | {
  readonly ok: false;
  readonly status?: number;
  readonly error?: unknown;
};

/** The statuses with which a collector asks for the same again (OTLP 1.9, "Retryable Response Codes"). */
const passingStatuses: readonly number[] = [429, 502, 503, 504];
const firstPauseMs = 1_000;
const longestPauseMs = 5_000;

/** Sends by fetch, which tells the length of a body of bytes: some collectors refuse one in chunks. */
function connectCollector(url: string, headers: Readonly<Record<string, string>>, ca: string | undefined) {
  const client = ca === undefined ? undefined : Deno.createHttpClient({ caCerts: [ca] });
  const closing = new AbortController();

  async function attempt(body: Uint8Array<ArrayBuffer>, signal: AbortSignal) {
    const response = await fetch(url, {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body,
      signal,
      redirect: "manual",
      ...defined({ client }),
    });
    await response.body?.cancel();
    return response;
  }

  return {
    /** Sends spans, again where the collector is away for a moment. */
    async send(spans: ReadableSpan[]): Promise<Sent> {
      const body = new Uint8Array(JsonTraceSerializer.serializeRequest(spans) ?? []);
      const deadline = AbortSignal.timeout(sendTimeoutMs);
      const signal = AbortSignal.any([deadline, closing.signal]);
      for (let pauseMs = firstPauseMs;; pauseMs = Math.min(1.5 * pauseMs, longestPauseMs)) {
        let sent: Sent;
        let waitMs = pauseMs * (0.8 + 0.4 * Math.random());
        try {
          const { ok, status, headers } = await attempt(body, signal);
          if (ok) return { ok };
          sent = { ok, status };
          if (!passingStatuses.includes(status)) return sent;
          waitMs = Number(headers.get("retry-after") ?? NaN) * 1_000 || waitMs;
        } catch (error) {
          sent = { ok: false, error };
          // a wait mends no certificate; before Deno 2.9 the error itself says so, and no cause
          if (
            error instanceof Error &&
            /invalid peer certificate|fatal alert: \w*certificate/i.test(`${error} ${error.cause}`)
          ) {
            return sent;
          }
        }
        if (await settlesWithin(waitMs, aborted(signal))) return sent;
      }
    },
    close() {
      closing.abort();
      client?.close();
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Sends spans in batches, and keeps so many that wait. */
function createQueue(collector: Collector, endpoint: string, logger: Logger) {
  let waiting = 0;
  let isLosing = false;
  let hadNoRoom = false;
  const sendings = new Set<Promise<void>>();

  function lose(why: string, fields = {}): void {
    if (!isLosing) logger.warn(`Traces are lost: ${why}`, { endpoint, ...fields });
    isLosing = true;
  }

  function hear(sent: Sent): void {
    if (!sent.ok) {
      const { status, error } = sent;
      return lose("the collector does not take them", { status, error });
    }
    if (isLosing && !hadNoRoom) {
      isLosing = false;
      logger.info("Traces reach the collector again", { endpoint });
    }
    hadNoRoom = false;
  }

  const processor = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        waiting -= spans.length;
        const sending = collector.send(spans).then((sent) => {
          hear(sent);
          sendings.delete(sending);
          done({ code: sent.ok ? 0 : 1 });
        });
        sendings.add(sending);
      },
      // the processor waits for what it sends last, not for what is on its way
      shutdown: async () => void await Promise.all(sendings),
    },
    maxQueueSize: maxWaiting,
    maxExportBatchSize: maxSentAtOnce,
    scheduledDelayMillis: sendEveryMs,
    // a batch's own comes first
    exportTimeoutMillis: sendTimeoutMs + 1_000,
  });
  return {
    /** Tells of no loss from now on. */
    giveUp(): void {
      isLosing = true;
    },
    add(span: ReadableSpan): void {
      if (waiting >= maxWaiting) {
        hadNoRoom = true;
        return lose("there are more than the collector takes");
      }
      waiting++;
      processor.onEnd(span);
    },
    /** Sends what is left. */
    close: () => processor.shutdown(),
  };
}
