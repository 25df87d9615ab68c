import { withConsole } from "../../console/console_routes.ts";
import type { Served } from "../../identity/front.ts";
import { healthOf, readinessOf } from "../../rag_server/api/rag_routes.ts";
import type { Identity } from "../open_identity.ts";
import { authenticationBy, logoutRecorder, type Running } from "../shared_parts.ts";
import { consoleFigures } from "../telemetry/console_figures.ts";
import type { RagConsoleParts } from "./rag_server.ts";

/** Adds the console to the routes of a RAG server that stands alone. */
export function ragConsole(running: Running, identity: Identity | undefined) {
  const { config, demo, audit, serverInfo } = running;
  const { auth } = config.server;
  const { recentCalls, figures } = consoleFigures(running);
  return (served: Served, { pipelines, forwardedIdentity, bodyTimeout }: RagConsoleParts): Served =>
    withConsole(served, {
      serverInfo,
      authentication: identity && authenticationBy(identity, running, "rag_server"),
      takesTokens: auth.methods.api_tokens || auth.identity_provider !== undefined,
      callerOf: forwardedIdentity && ((request, { peer }) => {
        const read = forwardedIdentity(peer, request.headers);
        return read.kind === "caller" ? read.principal : undefined;
      }),
      quotas: running.quotas,
      administrators: config.console.administrators,
      admitsAll: demo,
      hasTools: false,
      documents: served,
      addresses: { rag: config.server.resource_url },
      recentCalls,
      async status() {
        const [{ pipelines: health = [] }, all] = await Promise.all([healthOf(pipelines), figures()]);
        const ready = readinessOf(health.map(({ database }) => database.reachable));
        return { ready, databases: [], pipelines: health, ...all };
      },
      bodyTimeout,
      onLogout: logoutRecorder(audit),
    });
}
