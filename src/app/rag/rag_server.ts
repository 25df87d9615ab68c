import { logoutRecorder, type Running } from "../shared_parts.ts";
import { defined } from "../../core/defined.ts";
import { createCalls } from "../../calls/calls.ts";
import { type Config, noName } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import { createSharedDeadline, type SharedDeadline } from "../../core/async/deadline.ts";
import { createServerMetrics, type ServerMetrics } from "../../core/metrics/server_metrics.ts";
import type { Principal } from "../../core/principal.ts";
import { createClientAddress } from "../../http/client_address.ts";
import { createCrossOrigin } from "../../http/cross_origin.ts";
import { createHostCheck } from "../../http/host_and_origin.ts";
import { bodyTimeoutMs } from "../../http/request_body.ts";
import type { Authentication } from "../../identity/authentication.ts";
import type { FrontChecks, Served } from "../../identity/front.ts";
import { createProtectedResource } from "../../identity/protected_resource.ts";
import {
  createForwardedIdentity,
  type ForwardedIdentity,
  type ForwardedIdentityOptions,
} from "../../rag_server/api/forwarded_identity.ts";
import { createRagRoutes, type RagRoutesOptions } from "../../rag_server/api/rag_routes.ts";
import type { RunningPipelines } from "../../rag_server/running_pipelines.ts";
import type { ApplyConfig } from "../config_reload.ts";
import { type HttpServer, serveHttp } from "../serve_http.ts";
import { servePipelines } from "./serve_pipelines.ts";
import { opennessWarning } from "../checks/configuration_checks.ts";

interface RagServerOptions
  extends Pick<Running, "config" | "files" | "models" | "databaseOptions" | "logger">, Partial<RagParts> {
  /** Optional: none where the server asks nobody who is calling. */
  readonly identity?: {
    readonly authentication: Authentication;
    /** The built-in authorization server, and what its tokens for this server are for. Optional: none where none let anybody in. */
    readonly oauth?: {
      readonly issuer: string;
      readonly authorizationUrl: string;
      readonly tokenUrl: string;
      readonly scopes: readonly string[];
      readonly resource: string;
    } | undefined;
    /** Tells of each token and session that ends. */
    onEnded(listener: (principal: Principal) => void): void;
  };
  /** Told of each request whose headers do not tell who asks. */
  readonly onIdentityRefused?: RagRoutesOptions["onIdentityRefused"];
  /** Optional: adds the console; none where it is off, or the tool server has it. */
  readonly withConsole?: ((served: Served, parts: RagConsoleParts) => Served) | undefined;
  readonly version: string;
}

type RagParts = Pick<
  Running,
  "audit" | "child" | "metrics" | "quotas" | "recentCalls" | "state" | "access" | "tracer"
>;

/** What the console has of the server that it is a part of. */
export interface RagConsoleParts {
  readonly pipelines: RunningPipelines;
  readonly forwardedIdentity: ForwardedIdentity | undefined;
  readonly bodyTimeout: SharedDeadline;
}

export interface RunningRagServer extends HttpServer {
  readonly pipelines: RunningPipelines;
  readonly prepare: ApplyConfig;
}

/**
 * Opens the pipelines, serves them, and replaces them when the configuration changes. The listener stays as it is.
 * @throws {AppError} `invalid` for TLS files that do not fit, `unavailable` where the address is taken
 */
export async function startRagServer(
  options: RagServerOptions,
): Promise<RunningRagServer> {
  const { config, metrics = createServerMetrics(), logger } = options;
  await using opening = new AsyncDisposableStack();
  const served = opening.use(await servePipelines({ ...options, metrics }));
  const { running } = served;
  const server = opening.use(await serve(running, { ...options, metrics }));
  const openness = opennessWarning(config);
  if (openness !== undefined) logger.warn(`${openness.message}: ${openness.remedy}`);
  if (config.pipelines.length === 0) {
    logger.warn("The configuration has no pipelines: there is nothing to ask");
  }
  async function prepare(next: Config): Promise<() => void> {
    if (next.pipelines.length === 0 && running.list().length > 0) {
      throw new AppError("invalid", "Cannot serve a configuration without pipelines");
    }
    // pipelines that are replaced would read otherwise than the routes ask
    if (JSON.stringify(next.identity) !== JSON.stringify(config.identity)) {
      throw new AppError("invalid", "Cannot change identity while the server runs: restart it");
    }
    const put = await served.prepare(next);
    return () => {
      server.reload(next.server);
      put();
    };
  }
  const stack = opening.move();
  return {
    url: server.url,
    pipelines: running,
    prepare,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function forwardedFrom(identity: Config["identity"]): ForwardedIdentityOptions {
  const { claims_header, subject_header, role_claim } = identity;
  return {
    ...(claims_header === noName ? {} : { claimsHeader: claims_header }),
    ...(subject_header === noName ? {} : { subjectHeader: subject_header }),
    subjectClaim: identity.subject_claim,
    ...(role_claim === noName ? {} : { roleClaim: role_claim }),
    allowedRoles: identity.allowed_roles,
    trustedProxies: identity.trusted_proxies,
  };
}

/** Serves pipelines over HTTP or HTTPS. */
async function serve(
  pipelines: RunningPipelines,
  options: RagServerOptions & { readonly metrics: ServerMetrics },
) {
  const { config: { server, identity: claims }, identity, audit, child, state } = options;
  const { quotas, metrics, recentCalls } = options;
  const calls = createCalls({ quotas, audit, metrics, recentCalls });
  const bodyTimeout = createSharedDeadline(bodyTimeoutMs);
  identity?.onEnded(calls.underWay.endPrincipal);
  const oauth = identity?.oauth;
  const provider = identity && server.auth.identity_provider;
  const forwardedIdentity = claims.enabled ? createForwardedIdentity(forwardedFrom(claims)) : undefined;
  const routes = createRagRoutes({
    ...options,
    authentication: identity?.authentication,
    forwardedIdentity,
    issuers: {
      authorizationServer: oauth,
      identityProvider: provider &&
        { issuer: provider.issuer, requiredScopes: provider.required_scopes ?? [] },
    },
    pipelines,
    readinessOfAll: child?.readinessOfAll("rag_server"),
    calls,
    generations: () =>
      state?.isShared
        ? Object.fromEntries(
          options.metrics.generations.family.read().map(({ labels: [of, which] }) => [of, which]),
        )
        : undefined,
    isWaiting: () => state?.isShared === true && !state.hasAnswered(),
    requestTimeoutMs: server.request_timeout,
    hasChat: server.openai_api.enabled,
    bodyTimeout,
    onLogout: logoutRecorder(audit),
  });
  const serving = await serveHttp({
    ...options,
    settings: server,
    section: "server",
    sharesPort: child !== undefined,
    served: options.withConsole?.(routes, { pipelines, forwardedIdentity, bodyTimeout }) ?? routes,
    checksOf,
    authentication: identity?.authentication,
    protectedResource: oauth === undefined && provider === undefined ? undefined : createProtectedResource({
      resourceUrl: oauth?.resource ?? server.resource_url,
      path: "/v1",
      authorizationServer: oauth,
      identityProvider: provider,
    }),
    endCalls: calls.underWay.endAll,
  });
  return {
    url: serving.url,
    reload: serving.reload,
    async [Symbol.asyncDispose](): Promise<void> {
      await serving[Symbol.asyncDispose]();
      calls[Symbol.dispose]();
      bodyTimeout.close();
    },
  };
}

function checksOf({ address, allowed_hosts, cors, client_ip }: Config["server"]): FrontChecks {
  const hostIsAllowed = createHostCheck({ address, allowedHosts: allowed_hosts });
  return {
    checkHostAndOrigin: (request) => hostIsAllowed(request) ? undefined : "host",
    crossOrigin: cors.enabled ? createCrossOrigin("rag_server", cors.allowed_origins) : undefined,
    clientAddress: createClientAddress({
      ...defined({ header: client_ip.header }),
      trustedProxies: client_ip.trusted_proxies,
    }),
  };
}
