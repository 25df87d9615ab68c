import type { NewSpan, Tracer } from "../core/tracing.ts";
import { methods } from "./access_log.ts";
import { pathOf } from "./count_requests.ts";
import type { ListenerOptions, RouteBindings } from "./listener.ts";
import { tellReplyEnd } from "./reply_end.ts";

/**
 * Traces requests from their beginning to the end of their replies: HTTP's semantic conventions for servers, without the
 * address and the path that a client chose. The request's bindings note the span for all that works on the reply. Probes
 * are not traced.
 *
 * @param routeOf as countRequests() takes it
 * @param tracer absent where nothing is traced
 */
export function traceRequests(
  handle: ListenerOptions["handle"],
  routeOf: (path: string) => string,
  tracer: Tracer | undefined,
): ListenerOptions["handle"] {
  if (tracer === undefined) return handle;
  const traced = tellReplyEnd(handle, ({ bindings: { span, logFields }, status, bytes }) => {
    span?.set({
      "http.response.status_code": status,
      "http.response.body.size": bytes,
      "postern.pipeline": typeof logFields?.["pipeline"] === "string" ? logFields["pipeline"] : undefined,
    });
    span?.end(status >= 500 ? String(status) : undefined);
  });
  return (request, bindings) => {
    // they come every few seconds and would fill the traces
    if (probes.has(pathOf(request.url))) return handle(request, bindings);
    const span = tracer.begin(request.headers.get("traceparent"), () => describe(request, bindings, routeOf));
    if (span === undefined) return handle(request, bindings);
    bindings.span = span;
    return traced(request, bindings);
  };
}

const probes: ReadonlySet<string> = new Set(["/health", "/ready", "/v1/live", "/v1/ready", "/v1/health"]);

function describe(
  { url }: Request,
  { method, requestId }: RouteBindings,
  routeOf: (path: string) => string,
): NewSpan {
  const known = methods.has(method);
  const word = known ? method : "HTTP";
  const route = routeOf(pathOf(url));
  const hasRoute = route !== "other";
  return {
    name: hasRoute ? `${word} ${route}` : word,
    kind: "server",
    attributes: {
      "http.request.method": known ? method : "_OTHER",
      "http.route": hasRoute ? route : undefined,
      "url.scheme": url.slice(0, url.indexOf(":")),
      "postern.request.id": requestId,
    },
  };
}
