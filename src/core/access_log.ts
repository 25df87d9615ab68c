import { type LoggerOptions, logLine, writeToStderr } from "./logger.ts";
import { type Principal, principalKey } from "./principal.ts";

/** A request that has been answered. */
export interface AccessRecord {
  readonly method: string;
  /** As the server knows it, as in `/v1/pipelines/{name}`; never what a caller wrote in its place. */
  readonly route: string;
  readonly status: number;
  /** Of the reply's body; undefined where the client left before its end. */
  readonly bytes: number | undefined;
  readonly ms: number;
  readonly requestId: string;
  /** Who was let in. */
  readonly principal: Principal | undefined;
  /** The one that was asked. */
  readonly pipeline: string | undefined;
}

/** One line for each request. Disposing of it writes what has not been written yet. */
export interface AccessLog extends Disposable {
  write(record: AccessRecord): void;
}

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
    write({ method, route, status, bytes, ms, requestId, principal, pipeline }) {
      // what is undefined is left out
      gathered += logLine(format, new Date(), "info", "Request answered", {
        method,
        route,
        pipeline,
        status,
        bytes,
        ms: Math.round(ms * 10) / 10,
        principal: principal && principalKey(principal),
        user: principal?.kind === "session" ? principal.username : undefined,
        request: requestId,
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
