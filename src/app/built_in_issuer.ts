import type { Config } from "../config/mod.ts";
import { formatListenAddress } from "../core/address.ts";
import type { ServedBy } from "../core/metrics/server_metrics.ts";

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
