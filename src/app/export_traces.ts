import {
  ROOT_CONTEXT,
  type Span as SdkSpan,
  SpanKind as SdkKind,
  SpanStatusCode,
  trace,
  TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Config } from "../config/mod.ts";
import { settlesWithin } from "../core/async/deadline.ts";
import type { Logger } from "../core/logger.ts";
import { redactText } from "../core/redact.ts";
import {
  type NewSpan,
  readTraceparent,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type Tracer,
} from "../core/tracing.ts";
import { readAuthorities } from "./tls_files.ts";

/** Spans that wait for the collector; those that end while so many wait are lost. Some 2 KB each. */
const maxWaiting = 2_048;
/** Spans sent at once: to write so many holds up everything else for about a millisecond. */
const maxSentAtOnce = 128;
const sendEveryMs = 1_000;
/** For one batch with its retries. */
const sendTimeoutMs = 10_000;
/** How long a stop waits for the collector to take what is left. */
const lastSendMs = 3_000;
/** UTF-16 units of a value; what is longer is cut. */
const longestValue = 8_192;

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
  const { ca_file, sample_ratio, include_texts: includesTexts } = options;
  const ca = ca_file === undefined ? undefined : await readAuthorities(ca_file, "traces.ca_file");
  const url = tracesUrl(options.endpoint);
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      "service.name": options.service_name,
      "service.version": options.version,
      "service.instance.id": crypto.randomUUID(),
    }),
    // what is not to be traced does not come here
    sampler: new AlwaysOnSampler(),
    spanLimits: { attributeValueLengthLimit: longestValue },
    spanProcessors: [
      boundedProcessor(
        new OTLPTraceExporter({
          url,
          headers: { ...options.headers },
          timeoutMillis: sendTimeoutMs,
          ...(ca !== undefined && { httpAgentOptions: { ca, keepAlive: true } }),
        }),
        url,
        options.logger,
      ),
    ],
  });
  const tracer = provider.getTracer("postern", options.version);

  function start(
    { name, kind, attributes, link }: NewSpan,
    context: typeof ROOT_CONTEXT,
    clockOffsetMs: number,
  ): Span {
    const span = tracer.startSpan(name, {
      kind: kinds[kind],
      attributes: { ...attributes },
      startTime: timeOf(performance.now() + clockOffsetMs),
      ...(link && { links: [{ context: contextOf(link.traceparent) }] }),
    }, context);
    return new RecordedSpan(span, clockOffsetMs, includesTexts, start);
  }

  return {
    begin(traceparent, describe) {
      const parent = readTraceparent(traceparent);
      if (parent === undefined ? Math.random() >= sample_ratio : !parent.isSampled) return undefined;
      const context = parent === undefined
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, contextOf(traceparent ?? ""));
      return start(describe(), context, Date.now() - performance.now());
    },
    async [Symbol.asyncDispose]() {
      if (await settlesWithin(lastSendMs, provider.shutdown().catch(() => {}))) return;
      options.logger.warn("The last traces are lost: the collector does not take them", { endpoint: url });
    },
  };
}

const kinds: Readonly<Record<SpanKind, SdkKind>> = {
  internal: SdkKind.INTERNAL,
  server: SdkKind.SERVER,
  client: SdkKind.CLIENT,
};

/** As the standard variables have it, an address without the path of traces. */
function tracesUrl(endpoint: string): string {
  return /\/traces\/?$/.test(endpoint) ? endpoint : `${endpoint.replace(/\/+$/, "")}/v1/traces`;
}

function contextOf(traceparent: string) {
  const { traceId = "", spanId = "" } = readTraceparent(traceparent) ?? {};
  return { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true };
}

/** Seconds and nanoseconds. @param ms since 1970 */
function timeOf(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.floor((ms - seconds * 1_000) * 1_000_000)];
}

type Start = (span: NewSpan, context: typeof ROOT_CONTEXT, clockOffsetMs: number) => Span;

class RecordedSpan implements Span {
  #hasEnded = false;
  constructor(
    private readonly span: SdkSpan,
    /** Of the wall clock over the one that never goes back; the same for the whole trace, so that its times fit. */
    private readonly clockOffsetMs: number,
    private readonly includesTexts: boolean,
    private readonly start: Start,
  ) {}
  get traceId(): string {
    return this.span.spanContext().traceId;
  }
  get traceparent(): string {
    const { traceId, spanId } = this.span.spanContext();
    return `00-${traceId}-${spanId}-01`;
  }
  begin(name: string, kind: SpanKind = "internal", attributes: SpanAttributes = {}): Span {
    return this.start({ name, kind, attributes }, trace.setSpan(ROOT_CONTEXT, this.span), this.clockOffsetMs);
  }
  set(attributes: SpanAttributes): void {
    this.span.setAttributes({ ...attributes });
  }
  setText(name: string, text: () => string): void {
    if (this.includesTexts) this.span.setAttribute(name, redactText(text()));
  }
  end(error?: string): void {
    // a reply may end twice: its reader leaves after its end
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    if (error !== undefined) {
      this.span.setAttribute("error.type", error);
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end(timeOf(performance.now() + this.clockOffsetMs));
  }
}

/** Sends spans in batches, one at a time, and keeps so many that wait. */
function boundedProcessor(exporter: SpanExporter, endpoint: string, logger: Logger): SpanProcessor {
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
    onStart: () => {},
    onEnd(span: ReadableSpan) {
      if (waiting >= maxWaiting) {
        hadNoRoom = true;
        return lose("there are more than the collector takes");
      }
      waiting++;
      processor.onEnd(span);
    },
    forceFlush: () => processor.forceFlush(),
    shutdown: () => processor.shutdown(),
  };
}
