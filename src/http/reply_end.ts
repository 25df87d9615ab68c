import type { ListenerOptions, RouteBindings } from "./listener.ts";

/** A request that has been answered, as far as this process goes. */
interface AnsweredRequest {
  readonly request: Request;
  readonly bindings: RouteBindings;
  readonly status: number;
  /** Of the reply's body; undefined where the client left before its end. */
  readonly bytes: number | undefined;
  /** From the beginning to the end. */
  readonly ms: number;
}

/** Tells of each request once its reply is complete: read to its end, or by nobody any more. */
export function tellReplyEnd(
  handle: ListenerOptions["handle"],
  told: (answered: AnsweredRequest) => void,
): (request: Request, bindings: RouteBindings) => Promise<Response> {
  return async (request, bindings) => {
    const startedAt = performance.now();
    const end = (status: number, bytes: number | undefined) =>
      told({ request, bindings, status, bytes, ms: performance.now() - startedAt });
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
export function countBody(
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
