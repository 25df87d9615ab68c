import { formatPath, type SettingPath } from "../core/document/value_tree.ts";
import type { Fault } from "./fault.ts";
import type { RunContext } from "./rule_faults.ts";
import type { AuthConfig } from "./schema/auth.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import type { Locate } from "./schema/schema_faults.ts";

type Servers = Pick<ParsedConfig, "data_dir" | "http" | "server">;
type Report = (path: SettingPath, message: string) => void;

/**
 * Faults in who gets in, and of accounts that both servers have. They are looked for in settings that are valid each, with
 * absolute paths: what `server.auth` leaves out is as in `http.auth`, and two paths may mean one file.
 */
export function authFaults(servers: Servers, context: RunContext, locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  const { issuer } = servers.http.auth.oauth;
  checkMethods("http", servers.http.auth, issuer, report);
  checkMethods("server", servers.server.auth, issuer, report);
  checkOauth(servers, context, report);
  if (!context.hasOtherFiles) checkSharedAccounts(servers, report);
  return faults;
}

function checkMethods(
  server: "http" | "server",
  { enabled, methods, identity_provider: provider }: AuthConfig,
  issuer: string | undefined,
  report: Report,
): void {
  if (!enabled || methods.api_tokens || methods.password_login || provider !== undefined) return;
  if (methods.oauth && issuer !== undefined) return;
  report(
    [server, "auth", "methods"],
    "lets nobody in: expected api_tokens or password_login, oauth with http.auth.oauth.issuer, or identity_provider",
  );
}

function checkOauth(servers: Servers, { rag }: RunContext, report: Report): void {
  const { http: { enabled, auth }, data_dir } = servers;
  const { issuer } = auth.oauth;
  if (!enabled || !auth.enabled || !auth.methods.oauth || issuer === undefined) return;
  if (data_dir === undefined) {
    report(["data_dir"], "is required where http.auth.oauth.issuer is given: it keeps clients and grants");
  }
  if (rag) checkRagResource(servers, issuer, report);
}

/** What tokens of the built-in authorization server are for, where the RAG server takes them. */
function checkRagResource({ http, server }: Servers, issuer: string, report: Report): void {
  const { auth, resource_url: resource } = server;
  if (!auth.enabled || !auth.methods.oauth || auth.user_file !== http.auth.user_file) return;
  const path = ["server", "resource_url"];
  const given = "where http.auth.oauth.issuer is given";
  if (resource === undefined) {
    if (server.client_ip.header !== undefined) report(path, `is required behind a proxy ${given}`);
    else if (server.address.port === 0) report(path, `is required ${given} and server.address has port 0`);
    return;
  }
  const withoutSlash = (url: string) => url.replace(/\/$/, "");
  const ofTools = http.resource_url ?? `${withoutSlash(issuer)}/mcp/v1`;
  if (withoutSlash(ofTools) === withoutSlash(resource)) {
    report(path, "must differ from the tool server's: a token for one server is refused by the other");
  }
}

/** Settings that count for all who use the same accounts: failed logins count for both servers together. */
const accountSettings = [
  "session_lifetime",
  "password_min_length",
  "rate_limit_window_minutes",
  "rate_limit_max_attempts",
  "max_failed_attempts_before_lockout",
] as const;

function checkSharedAccounts({ http, server }: Servers, report: Report): void {
  const differs = (key: keyof AuthConfig) => server.auth[key] !== http.auth[key];
  // each pair of files has its own sessions and counts of failed logins
  if (!server.auth.enabled || differs("user_file") || differs("token_file")) return;
  for (const key of accountSettings.filter(differs)) {
    report(
      ["server", "auth", key],
      `cannot differ from http.auth.${key} while both have the same token_file and user_file`,
    );
  }
}
