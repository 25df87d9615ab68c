import { type LogFields, type LoggerOptions, logLine, writeToStderr } from "../core/logger.ts";
import { accountOf, type Principal, principalKey } from "../core/principal.ts";
import { pathOf } from "./count_requests.ts";
import type { ListenerOptions } from "./listener.ts";
import { tellReplyEnd } from "./reply_end.ts";

/** A request that has been answered. */
export interface AccessRecord {
  /** As the client sent it. */
  readonly method: string;
  /** As the server knows it, as in `/v1/pipelines/{name}`; never what a caller wrote in its place. */
  readonly route: string;
  readonly status: number;
  /** Of the reply's body; undefined where the client left before its end. */
  readonly bytes: number | undefined;
  readonly ms: number;
  readonly requestId: string;
  /** Absent where the request is not traced. */
  readonly traceId: string | undefined;
  /** Who was let in. */
  readonly principal: Principal | undefined;
  readonly fields: LogFields | undefined;
}

/** One line for each request. Disposing of it writes what has not been written yet. */
export interface AccessLog extends Disposable {
  write(record: AccessRecord): void;
}

/** HTTP's own methods (RFC 9110, section 9; RFC 5789). Any other may be a text of a caller's making, and long. */
export const methods: ReadonlySet<string> = new Set([
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "PATCH",
  "DELETE",
  "OPTIONS",
  "TRACE",
  "CONNECT",
]);

/** Lines wait so long for others, as to write each by itself costs more than to make it. */
const gatherMs = 100;
const mostGathered = 64 * 1024;

/**
 * Lines as the log's own, whatever the log's level is. Nothing in them is redacted: all is from the configuration, the
 * credential files or fixed lists, and a request's id was looked at when it was taken.
 */
export function createAccessLog(
  { format, write = writeToStderr }: Pick<LoggerOptions, "format" | "write">,
): AccessLog {
  let gathered = "";
  let timer: ReturnType<typeof setTimeout> | undefined;

  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const text = gathered;
    gathered = "";
    if (text !== "") write(text);
  }

  return {
    write({ method, route, status, bytes, ms, requestId, traceId, principal, fields }) {
      // what is undefined is left out
      gathered += logLine(format, new Date(), "info", "Request answered", {
        method: methods.has(method) ? method : "other",
        route,
        ...fields,
        status,
        bytes,
        ms: Math.round(ms * 10) / 10,
        principal: principal && principalKey(principal),
        user: principal && accountOf(principal),
        request: requestId,
        trace_id: traceId,
      });
      if (gathered.length >= mostGathered) flush();
      else if (timer === undefined) {
        timer = setTimeout(flush, gatherMs);
        // the timer alone does not keep the process alive
        Deno.unrefTimer(timer);
      }
    },
    [Symbol.dispose]: flush,
  };
}

/**
 * Tells the access log of each request, once its reply is complete as far as this process goes.
 *
 * @param routeOf as countRequests() takes it
 * @param log absent where nobody wants to know
 */
export function logAccess(
  handle: ListenerOptions["handle"],
  routeOf: (path: string) => string,
  log: AccessLog | undefined,
): ListenerOptions["handle"] {
  if (log === undefined) return handle;
  return tellReplyEnd(handle, ({ request, bindings, ...reply }) => {
    const { method, requestId, principal, logFields: fields, span } = bindings;
    const route = routeOf(pathOf(request.url));
    log.write({ method, route, ...reply, requestId, traceId: span?.traceId, principal, fields });
  });
}
