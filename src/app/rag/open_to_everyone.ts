import type { Config } from "../../config/mod.ts";
import { formatListenAddress, isLoopback } from "../../core/address.ts";

/**
 * What an operator should hear of a RAG server that asks nobody who is calling; undefined where it asks, and where only
 * its own machine reaches it and nothing says that it is not for everyone.
 */
export function opennessWarning(
  { server, identity, pipelines }: Pick<Config, "server" | "identity" | "pipelines">,
): { readonly message: string; readonly remedy: string } | undefined {
  if (server.auth.enabled || identity.enabled) return undefined;
  const listed = pipelines.filter((pipeline) => pipeline.available_to_users.length > 0);
  if (isLoopback(server.address.host) && listed.length === 0) return undefined;
  const ignored = listed.length === 0
    ? ""
    : `; available_to_users has no effect (${listed.map(({ name }) => name).join(", ")})`;
  return {
    message: `Everyone who reaches ${formatListenAddress(server.address)} may ask every pipeline${ignored}`,
    remedy:
      "set server.auth.enabled, let the RAG server listen on loopback (server.address), or have a proxy decide " +
      "who may ask",
  };
}
