import {
  type Link,
  type SpanContext,
  SpanKind as SdkKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type ReadableSpan,
  type SpanExporter,
} from "@opentelemetry/sdk-trace";
import { type Config, dropCollectorVariables } from "../../config/mod.ts";
import { settlesWithin } from "../../core/async/deadline.ts";
import type { Logger } from "../../core/logger.ts";
import { redactText } from "../../core/redact.ts";
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
  dropCollectorVariables();
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...options.headers },
    timeoutMillis: sendTimeoutMs,
    ...(ca !== undefined && { httpAgentOptions: { ca, keepAlive: true } }),
  });
  const queue = createQueue(exporter, url, logger);
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
      if (await settlesWithin(lastSendMs, queue.close().catch(() => {}))) return;
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

/** Sends spans in batches, and keeps so many that wait. */
function createQueue(exporter: SpanExporter, endpoint: string, logger: Logger) {
  let waiting = 0;
  let isLosing = false;
  let hadNoRoom = false;

  function lose(why: string, fields = {}): void {
    if (!isLosing) logger.warn(`Traces are lost: ${why}`, { endpoint, ...fields });
    isLosing = true;
  }

  function hear({ code, error }: Parameters<Parameters<SpanExporter["export"]>[1]>[0]): void {
    if (code !== 0) {
      const status = error && "code" in error ? error.code : undefined;
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
        exporter.export(spans, (result) => {
          hear(result);
          done(result);
        });
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: maxWaiting,
    maxExportBatchSize: maxSentAtOnce,
    scheduledDelayMillis: sendEveryMs,
    // the exporter's own comes first
    exportTimeoutMillis: sendTimeoutMs + 1_000,
  });
  return {
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
