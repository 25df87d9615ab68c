import type { RouteBindings } from "../../src/http/listener.ts";
import { createFront, type FrontChecks, type FrontOptions } from "../../src/identity/front.ts";

/** What tells of a request that came from a peer. */
export function bindingsOf(
  { method }: Request,
  { peer = "127.0.0.1", requestId = "1" }: { peer?: string; requestId?: string } = {},
): RouteBindings {
  return { peer, addressOf: () => peer, method, requestId };
}

/** A server's routes behind the front, which lets every Host and Origin pass unless checks are given. */
export function behindFront(
  options: Omit<FrontOptions, "checks">,
  checks: Partial<FrontChecks> = {},
): (request: Request, from?: { peer?: string; requestId?: string }) => Promise<Response> {
  const handle = createFront({
    ...options,
    checks: () => ({ checkHostAndOrigin: () => undefined, clientAddress: (peer) => peer, ...checks }),
  });
  return async (request, from) => {
    const isHead = request.method === "HEAD";
    // as the listener has it
    const asGet = isHead ? new Request(request, { method: "GET" }) : request;
    const response = await handle(asGet, bindingsOf(request, from));
    return isHead ? new Response(null, response) : response;
  };
}
