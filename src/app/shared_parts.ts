import type { AuditTrail } from "../audit/audit_trail.ts";
import type { WaitBounds } from "../core/admission.ts";
import { type AuthConfig, type Config, offers } from "../config/mod.ts";
import type { OnnxModels } from "../llm/onnx/onnx_models.ts";
import type { FileWatch } from "../core/files/watch_files.ts";
import type { Logger } from "../core/logger.ts";
import type { ServedBy, ServerMetrics } from "../core/metrics/server_metrics.ts";
import { principalKey, principalName } from "../core/principal.ts";
import type { Quotas } from "../core/quotas/quotas.ts";
import type { Tracer } from "../core/tracing.ts";
import type { AccessLog } from "../http/access_log.ts";
import type { Authentication, LogoutReport } from "../identity/authentication.ts";
import type { RecentCalls } from "../calls/recent_calls.ts";
import type { ServerInfo } from "../tool_server/mcp/methods.ts";
import type { ApplyConfig, ConfigSource } from "./config_reload.ts";
import type { OpenDatabases } from "./open_databases.ts";
import type { Identities, Identity } from "./open_identity.ts";
import type { State } from "../state/state.ts";
import type { Child } from "./processes/child.ts";
import type { IncidentLog } from "./telemetry/incident_log.ts";
import { formatListenAddress, isLoopback } from "../core/address.ts";

export interface RunOptions {
  readonly config: Config;
  /** What the configuration holds that has no effect, for the log. */
  readonly warnings: readonly string[];
  /** Run the RAG server; alone, unless the tool server is enabled over HTTP. */
  readonly rag: boolean;
  /** Serve the demo's database in place of those that are configured. */
  readonly demo: boolean;
  readonly serverInfo: ServerInfo;
  /** Takes the lines that tell a person how to start; never called where standard output carries JSON-RPC. */
  readonly print: (line: string) => void;
  /** The whole command line, with which further processes are started. */
  readonly args: readonly string[];
  /** Optional: none where the configuration has no file. */
  readonly reload?: ConfigSource;
}

/** What both servers use. */
export interface Running extends RunOptions {
  readonly databases: OpenDatabases;
  /** As `databases.ofPipelines`. */
  readonly databaseOptions?: OpenDatabases["ofPipelines"];
  readonly files: FileWatch;
  /** Those of this machine. Optional: none where no provider is of the kind onnx. */
  readonly models?: OnnxModels | undefined;
  /** From now on, `prepare` gets the configuration whenever it changes. */
  readonly onConfig: (prepare: ApplyConfig) => void;
  readonly metrics: ServerMetrics;
  readonly quotas: Quotas;
  /** Optional: none where the configuration does not ask for it. */
  readonly access: AccessLog | undefined;
  /** Optional: none where the configuration names no collector. */
  readonly tracer: Tracer | undefined;
  readonly audit: AuditTrail | undefined;
  readonly incidents: IncidentLog;
  /** For the console. Optional: none where there is none. */
  readonly recentCalls: RecentCalls | undefined;
  /** Optional: none where no server asks who is calling. */
  readonly identities: Identities | undefined;
  readonly state: State;
  /** Optional: none where the process serves alone. */
  readonly child: Child | undefined;
  /** To be called once the servers answer. */
  readonly onServing: () => void;
  readonly logger: Logger;
}

/** What tells a server's callers apart; undefined where it asks nobody. The demo has no accounts. */
export async function openIdentity(
  { identities, demo }: Running,
  auth: AuthConfig,
  resource?: string,
): Promise<Identity | undefined> {
  return auth.enabled && !demo ? await identities?.open(auth, resource) : undefined;
}

export function authenticationBy(
  { authenticator, login, endSession }: Identity,
  running: Running,
  server: ServedBy,
): Authentication {
  const { builtins, ...config } = running.config;
  const { auth } = server === "tool_server" ? config.http : config.server;
  return {
    authenticator,
    server,
    requiredScopes: auth.identity_provider?.required_scopes ?? [],
    // one switch each for both servers: sessions of one may be good for the other
    ...(login !== undefined && offers(builtins, "tools", "authenticate_user") ? { login } : {}),
    ...(offers(builtins, "tools", "logout") ? { endSession } : {}),
    onRefusal: refusalCounter(running, server),
  };
}

/** Keeps in the audit trail that a user has logged out; undefined where there is none. */
export function logoutRecorder(audit: AuditTrail | undefined) {
  return audit && (({ session, address, requestId }: LogoutReport) =>
    audit.record({
      event: "logout",
      outcome: "ok",
      principal: principalKey(session),
      user: principalName(session),
      address,
      request: requestId,
    }));
}

/** What is told of requests that were refused for their token. */
export function refusalCounter({ incidents, metrics }: Running, server: ServedBy): (address: string) => void {
  const refused = metrics.refusals.of(server, "unauthorized");
  return (address) => {
    refused.add();
    incidents.refused(address);
  };
}

/** Whether one of the servers has the console, at a loopback address unless the setting says otherwise. */
export function hasConsole({ console, http, server }: Config, demo: boolean): boolean {
  return console.enabled ?? (demo || isLoopback((http.enabled ? http : server).address.host));
}

/** The issuer of the built-in authorization server; undefined where there is none. */
export function builtInIssuer({ enabled, methods, oauth }: Config["http"]["auth"]): string | undefined {
  return enabled && methods.oauth ? oauth.issuer : undefined;
}

/**
 * What the built-in authorization server's tokens for a server are for: the address that clients call. Undefined where no
 * such token lets anybody in.
 */
export function resourceOf(
  { http, server }: Pick<Config, "http" | "server">,
  of: ServedBy,
): string | undefined {
  const issuer = builtInIssuer(http.auth);
  // the tool server runs it
  if (issuer === undefined || !http.enabled) return undefined;
  if (of === "tool_server") return http.resource_url ?? `${issuer.replace(/\/$/, "")}/mcp/v1`;
  const { auth, resource_url: resource } = server;
  const isTaken = auth.enabled && auth.methods.oauth && auth.user_file === http.auth.user_file;
  return isTaken ? resource ?? addressOf(server, new URL(issuer).hostname) : undefined;
}

/** @param name by which clients know this machine, for a listener on every interface */
function addressOf({ address, tls }: Config["server"], name: string): string {
  const isEverywhere = ["", "0.0.0.0", "::"].includes(address.host);
  const place = isEverywhere ? `${name}:${address.port}` : formatListenAddress(address);
  return new URL(`${tls.enabled ? "https" : "http"}://${place}/v1`).href;
}

/** How long calls may wait for their share. @param deadlineMs how long a call may take */
export function waitBoundsOf({ admission }: Pick<Config, "admission">, deadlineMs = Infinity): WaitBounds {
  return {
    maxWaiting: admission.max_waiting,
    maxWaitMs: Math.min(admission.max_wait || Infinity, deadlineMs),
  };
}
