import type { ListenerOptions } from "./listener.ts";

/**
 * Counts requests by route and status, and how long each took until its reply began.
 *
 * @param routeOf the route of a URL's path; only a route's pattern may come of it, never a part of the path that a client chose
 */
export function countRequests(
  handle: ListenerOptions["handle"],
  routeOf: (path: string) => string,
  count: (route: string, status: number, ms: number) => void,
): ListenerOptions["handle"] {
  return async (request, bindings) => {
    const startedAt = performance.now();
    let status = 500;
    try {
      const response = await handle(request, bindings);
      status = response.status;
      return response;
    } finally {
      count(routeOf(pathOf(request.url)), status, performance.now() - startedAt);
    }
  };
}

/** The path of an absolute URL; to parse it as a whole takes longer than some replies. */
export function pathOf(url: string): string {
  const start = url.indexOf("/", url.indexOf("://") + 3);
  const end = url.slice(start).search(/[?#]/);
  return end === -1 ? url.slice(start) : url.slice(start, start + end);
}
