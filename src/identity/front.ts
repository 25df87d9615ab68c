import { createHistogram, type Histogram } from "../core/metrics/metric_family.ts";
import type { ServedBy, ServerMetrics } from "../core/metrics/server_metrics.ts";
import type { Tracer } from "../core/tracing.ts";
import type { AccessLog } from "../http/access_log.ts";
import type { ClientAddress } from "../http/client_address.ts";
import { countRequests } from "../http/count_requests.ts";
import type { CrossOrigin } from "../http/cross_origin.ts";
import type { ListenerOptions, RouteBindings } from "../http/listener.ts";
import { traceRequests } from "../http/trace_requests.ts";
import { type Admission, admit, type Authentication } from "./authentication.ts";
import type { ProtectedResource } from "./protected_resource.ts";
import { addressGroup } from "./rate_limiter.ts";

type Handler = ListenerOptions["handle"];

/** Why a request never reaches its route. */
export type FrontRefusal =
  | { readonly kind: "host" | "origin" }
  | Exclude<Admission, { readonly kind: "admitted" }>;

/** The routes of one server. */
export interface Served {
  readonly name: ServedBy;
  /** The route of a path, for counting; `other` where there is none. Never a part of the path that a client chose. */
  routeOf(path: string): string;
  /** Whether a request is answered whatever its Host says: who probes knows no host name. */
  isProbe(request: Request): boolean;
  /** Whether the answer needs a caller who is let in, tells such a caller more, or is the same for everyone. */
  callerOf(request: Pick<Request, "url" | "method">): "required" | "optional" | "none";
  /** Optional: what tells who is calling, as the header `Authorization` would; undefined where that header does. */
  authorizationOf?(request: Request): string | undefined;
  refuse(why: FrontRefusal, request: Request, bindings: RouteBindings): Response | Promise<Response>;
  /** `bindings.principal` is there where `callerOf` requires one, and where one was let in. */
  readonly answer: Handler;
}

/** What settings decide of requests, and what may change while a server runs. */
export interface FrontChecks {
  readonly checkHostAndOrigin: (request: Request) => "host" | "origin" | undefined;
  /** Optional: lets web pages read the answers. */
  readonly crossOrigin?: CrossOrigin | undefined;
  readonly clientAddress: ClientAddress;
}

export interface FrontOptions {
  readonly served: Served;
  /** The checks as they are now. */
  readonly checks: () => FrontChecks;
  /** Optional; without it everyone is let in. */
  readonly authentication?: Authentication | undefined;
  /** Optional: tells clients where they can log in. */
  readonly protectedResource?: ProtectedResource | undefined;
  /** Optional; omit to disable counting. */
  readonly metrics?: ServerMetrics | undefined;
  /** Optional: told of each request. */
  readonly access?: AccessLog | undefined;
  /** Optional; omit to disable tracing. */
  readonly tracer?: Tracer | undefined;
}

/**
 * What every request to either server goes through before its route. `http/listener` has named it and bounded its headers;
 * the route reads the body, within a bound of its own (`http/request_body`).
 */
export function createFront(options: FrontOptions): Handler {
  const { served, checks, authentication, protectedResource, metrics, access, tracer } = options;
  const count = metrics?.ofRequests(served.name) ?? (() => {});
  const identityDuration: Histogram = metrics?.stage(served.name, "identity") ?? createHistogram();

  // in this order, each around those below it
  const steps: readonly ((next: Handler) => Handler)[] = [
    (next) => countRequests(next, served.routeOf, count, access),
    (next) => traceRequests(next, served.routeOf, tracer),
    withClientAddress,
    withAllowedHostAndOrigin,
    readableByPages,
    tellingWhereToLogIn,
    withCaller,
  ];
  return steps.reduceRight((next, step) => step(next), served.answer);

  function withClientAddress(next: Handler): Handler {
    return (request, bindings) => {
      const { clientAddress } = checks();
      // to read it costs more than some answers, and most requests do not need it
      bindings.addressOf = () => clientAddress(bindings.peer, request.headers);
      return next(request, bindings);
    };
  }

  function withAllowedHostAndOrigin(next: Handler): Handler {
    return (request, bindings) => {
      const refusedFor = checks().checkHostAndOrigin(request);
      if (refusedFor === undefined) return next(request, bindings);
      // without a principal: a web page that came by a foreign name is nobody, also where authentication is off
      if (refusedFor === "host" && served.isProbe(request)) {
        return served.answer(request, bindings);
      }
      metrics?.refusals.of(served.name, refusedFor).add();
      return served.refuse({ kind: refusedFor }, request, bindings);
    };
  }

  function readableByPages(next: Handler): Handler {
    return async (request, bindings) => {
      const { crossOrigin } = checks();
      if (crossOrigin === undefined) return await next(request, bindings);
      return crossOrigin.preflight(request) ?? crossOrigin.mark(request, await next(request, bindings));
    };
  }

  function tellingWhereToLogIn(next: Handler): Handler {
    if (protectedResource === undefined) return next;
    return async (request, bindings) =>
      protectedResource.answer(request) ?? protectedResource.mark(request, await next(request, bindings));
  }

  function withCaller(next: Handler): Handler {
    return async (request, bindings) => {
      const wanted = served.callerOf(request);
      if (wanted === "none") return await next(request, bindings);
      const { addressOf, span } = bindings;
      if (authentication === undefined) {
        bindings.principal = new LocalCaller(addressOf);
        return await next(request, bindings);
      }
      const startedAt = performance.now();
      const identity = span?.begin("identity");
      const authorization = served.authorizationOf?.(request) ?? request.headers.get("authorization");
      const admission = await admit(authentication, authorization, addressOf);
      identity?.end(admission.kind === "admitted" ? undefined : admission.kind);
      identityDuration.observe(performance.now() - startedAt);
      if (admission.kind === "admitted") bindings.principal = admission.principal;
      else if (wanted === "required") {
        const response = await served.refuse(admission, request, bindings);
        if (admission.kind === "unauthorized" && response.status === 401) {
          authentication.onRefusal?.(addressOf());
        }
        return response;
      }
      return await next(request, bindings);
    };
  }
}

/**
 * A caller without a token. A class, since the engine makes a hidden class for each literal with getters, and keeps it, with
 * all that it leads to, for long.
 */
class LocalCaller {
  readonly kind = "local";
  private known: string | undefined;
  constructor(private readonly addressOf: () => string) {}
  get address(): string {
    // kept: a request whose reply has begun may not be read any more
    return this.known ??= addressGroup(this.addressOf());
  }
}
