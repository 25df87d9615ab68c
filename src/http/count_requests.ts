import type { AccessLog } from "./access_log.ts";
import type { ListenerOptions, RouteBindings } from "./listener.ts";

/**
 * Counts requests by route and status, and how long each took until its reply began.
 *
 * @param routeOf the route of a URL's path; only a route's pattern may come of it, never a part of the path that a client chose
 * @param access told of each request. Optional: none where nobody wants to know
 */
export function countRequests(
  handle: ListenerOptions["handle"],
  routeOf: (path: string) => string,
  count: (route: string, status: number, ms: number) => void,
  access: AccessLog | undefined,
): ListenerOptions["handle"] {
  function failed(request: Request, bindings: RouteBindings, startedAt: number): void {
    const route = routeOf(pathOf(request.url));
    const ms = performance.now() - startedAt;
    count(route, 500, ms);
    access?.failed(bindings, route, ms);
  }

  return async (request, bindings) => {
    const startedAt = performance.now();
    let response: Response;
    try {
      response = await handle(request, bindings);
    } catch (error) {
      failed(request, bindings, startedAt);
      throw error;
    }
    const route = routeOf(pathOf(request.url));
    const ms = performance.now() - startedAt;
    count(route, response.status, ms);
    return access === undefined ? response : access.answered(response, bindings, route, startedAt, ms);
  };
}

/** The path of an absolute URL; to parse it as a whole takes longer than some replies. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}
