import { logField, type LoggerOptions, type LogOutput } from "../core/logger.ts";
import { accountOf, principalKey } from "../core/principal.ts";
import type { RouteBindings } from "./listener.ts";
import { countBody } from "./reply_end.ts";

/** One line for each request, once its reply is complete as far as this process goes. */
export type AccessLog = ReturnType<typeof createAccessLog>;

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

/**
 * Lines as the log's own, whatever the log's level is. Nothing in them is redacted or cut: all is from the configuration, the
 * credential files or fixed lists, but for a request's id and an issuer's subject, which were looked at when they were taken
 * and have at most 128 and 255 characters.
 */
export function createAccessLog(format: LoggerOptions["format"], output: LogOutput) {
  const timeAndMessage = createLineStart(format);
  // there are few of both
  const methodFields = new Map([...methods, "other"].map((name) => [name, logField(format, "method", name)]));
  const routeFields = new Map<string, string>();

  function routeField(route: string): string {
    const known = routeFields.get(route) ?? logField(format, "route", route);
    routeFields.set(route, known);
    return known;
  }
  const [number, end] = format === "json"
    ? [(name: string, value: number) => `,"${name}":${value}`, "}\n"]
    : [(name: string, value: number) => ` ${name}=${value}`, "\n"];

  /** @param bytes of the reply's body; undefined where the client left before its end */
  function write(
    { method, requestId, principal, logFields, span }: RouteBindings,
    route: string,
    ms: number,
    status: number,
    bytes: number | undefined,
  ): void {
    let line = timeAndMessage() + (methodFields.get(method) ?? methodFields.get("other")) + routeField(route);
    for (const name in logFields) line += logField(format, name, logFields[name]);
    line += number("status", status);
    if (bytes !== undefined) line += number("bytes", bytes);
    line += number("ms", Math.round(ms * 10) / 10);
    if (principal !== undefined) line += logField(format, "principal", principalKey(principal));
    const user = principal && accountOf(principal);
    if (user !== undefined) line += logField(format, "user", user);
    line += logField(format, "request", requestId);
    if (span !== undefined) line += logField(format, "trace_id", span.traceId);
    output.gather(line + end);
  }

  return {
    /**
     * Takes note of a reply.
     *
     * @param route as the server knows it, as in `/v1/pipelines/{name}`; never what a caller wrote in its place
     * @param startedAt by `performance.now()`
     * @param ms until there was a reply
     * @returns the reply to send
     */
    answered(response: Response, bindings: RouteBindings, route: string, startedAt: number, ms: number) {
      const length = response.headers.get("content-length");
      if (length === null && response.body !== null) {
        const ended = (status: number, bytes: number | undefined) =>
          write(bindings, route, performance.now() - startedAt, status, bytes);
        return countBody(response, response.body, ended);
      }
      write(bindings, route, ms, response.status, Number(length ?? 0));
      return response;
    },
    /** Takes note of a request that ends without a reply of the routes, after so many milliseconds. */
    failed: (bindings: RouteBindings, route: string, ms: number) =>
      write(bindings, route, ms, 500, undefined),
  };
}

/** How a line begins. To write a time out costs as much as the rest of the line: it is done once a second. */
function createLineStart(format: LoggerOptions["format"]): () => string {
  const [before, after] = format === "json"
    ? ['{"time":"', 'Z","level":"info","message":"Request answered"']
    : ["", "Z INFO  Request answered"];
  let second = NaN;
  let upToSecond = "";
  return () => {
    const now = Date.now();
    const ms = now % 1_000;
    if (now - ms !== second) {
      second = now - ms;
      upToSecond = before + new Date(second).toISOString().slice(0, "2026-01-02T03:04:05.".length);
    }
    return upToSecond + String(ms).padStart(3, "0") + after;
  };
}
