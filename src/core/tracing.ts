import { AppError } from "./app_error.ts";

/** What a span says of what it stands for. Names are OpenTelemetry's (Semantic Conventions), Postern's own begin with `postern.`. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** Who asks whom: somebody outside this server (`server`), this server somebody outside (`client`). */
export type SpanKind = "internal" | "server" | "client";

/**
 * A part of a call that is traced. What a call carries is undefined where it is not traced, so whoever passes it on asks
 * nothing: `span?.begin(…)`. Attributes hold no text of a caller's, a model's or a database's, and no secret.
 */
export interface Span {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** Names the span to whoever is asked in its course (W3C Trace Context, section 3.2). */
  readonly traceparent: string;
  /** Begins a part of it. */
  begin(name: string, kind?: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** What callers, models or databases wrote; asked for only where the configuration wants it in traces. */
  setText(name: string, text: () => string): void;
  /** @param error what kind of error it ended with, one of few words or numbers. Optional: none where with none */
  end(error?: string): void;
}

/** What a span that is about to begin stands for. */
export interface NewSpan {
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
  /** A span of another trace that has to do with it. */
  readonly link?: Span | undefined;
}

/** Begins what is traced. */
export interface Tracer {
  /** Whether `begin` heeds a `traceparent` at all. */
  readonly followsCallers: boolean;
  /**
   * Undefined where it is not to be traced: its parent decides that where it has one, else chance.
   *
   * @param traceparent that somebody sent; what is none counts as absent
   * @param describe asked only for what is traced
   */
  begin(traceparent: string | null | undefined, describe: () => NewSpan): Span | undefined;
}

/** A span of somebody else's. */
export interface RemoteSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly isSampled: boolean;
}

/** Does `work` as a part of a span, which ends with it, however it ends. */
export async function spanned<T>(
  span: Span | undefined,
  name: string,
  work: (part: Span | undefined) => Promise<T>,
): Promise<T> {
  if (span === undefined) return await work(undefined);
  const part = span.begin(name);
  try {
    const result = await work(part);
    part.end();
    return result;
  } catch (error) {
    part.end(errorType(error));
    throw error;
  }
}

/** What a span says of something thrown: an AppError's code, else that it was unexpected. */
export function errorType(thrown: unknown): string {
  return thrown instanceof AppError ? thrown.code : "internal";
}

const traceparent = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;

/** Reads a `traceparent`; undefined for what is none (W3C Trace Context, section 3.2). */
export function readTraceparent(text: string | null | undefined): RemoteSpan | undefined {
  if (text === null || text === undefined) return undefined;
  const [, version, traceId, spanId, flags = "", rest] = traceparent.exec(text) ?? [];
  if (traceId === undefined || spanId === undefined) return undefined;
  // a later version may have more in it, and this one nothing
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId, isSampled: (parseInt(flags, 16) & 1) === 1 };
}
