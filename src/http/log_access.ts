import type { AccessLog } from "../core/access_log.ts";
import { pathOf } from "./count_requests.ts";
import type { ListenerOptions } from "./listener.ts";

/**
 * Tells the access log of each request, once its reply is complete as far as this process goes.
 *
 * @param routeOf as countRequests() takes it
 */
export function logAccess(
  handle: ListenerOptions["handle"],
  routeOf: (path: string) => string,
  log: AccessLog,
): ListenerOptions["handle"] {
  return async (request, bindings) => {
    const startedAt = performance.now();
    const end = (status: number, bytes: number | undefined) => {
      const { method, requestId, principal, pipeline } = bindings;
      const route = routeOf(pathOf(request.url));
      log.write({
        method,
        route,
        status,
        bytes,
        ms: performance.now() - startedAt,
        requestId,
        principal,
        pipeline,
      });
    };
    try {
      const response = await handle(request, bindings);
      const length = response.headers.get("content-length");
      if (length === null && response.body !== null) return countBody(response, response.body, end);
      end(response.status, Number(length ?? 0));
      return response;
    } catch (error) {
      end(500, undefined);
      throw error;
    }
  };
}

/** The same response, of which `end` is told when its body has been read to its end, or by nobody any more. */
function countBody(
  response: Response,
  body: ReadableStream<Uint8Array>,
  end: (status: number, bytes: number | undefined) => void,
): Response {
  const { status, headers } = response;
  const reader = body.getReader();
  let bytes = 0;
  const counted = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          end(status, bytes);
        } else {
          bytes += value.byteLength;
          controller.enqueue(value);
        }
      } catch (error) {
        end(status, undefined);
        throw error;
      }
    },
    cancel(reason) {
      end(status, undefined);
      return reader.cancel(reason);
    },
  }, { highWaterMark: 0 });
  return new Response(counted, { status, headers });
}
