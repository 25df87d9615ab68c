import { fileOfProcess } from "../core/files/file_of_process.ts";
import type { Config } from "./config.ts";
import type { OwnProcess } from "./environment_variables.ts";
import type { Fault } from "./fault.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import type { Locate } from "./schema/schema_faults.ts";

/** The bounds that count for all processes together. */
const shared = "max_connections pool_max_conns max_queries max_waiting calls_at_once".split(" ");

/**
 * What one of several processes has of a configuration: its share of each bound, since those are the machine's, and 1 at
 * least; an audit trail of its own; and nothing of what its parent does for all.
 */
export function configOfProcess({ notify_socket: _, ...config }: Config, own: OwnProcess): Config {
  const { http, server, audit, ...rest } = withShares(config, own);
  return {
    ...rest,
    own_process: own,
    http: { ...http, address: { ...http.address, port: own.ports.http } },
    server: { ...server, address: { ...server.address, port: own.ports.server } },
    audit: { ...audit, ...(audit.file !== undefined && { file: fileOfProcess(audit.file, own.number) }) },
  };
}

function withShares<T>(value: T, own: OwnProcess): T {
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).map(([key, part]) => {
    if (!shared.includes(key) || typeof part !== "number") return [key, withShares(part, own)] as const;
    // 0 is no bound to share: nobody waits
    return [key, part && Math.max(1, Math.floor((part + own.of - own.number) / own.of))] as const;
  });
  return (Array.isArray(value) ? entries.map(([, part]) => part) : Object.fromEntries(entries)) as T;
}

/** What several processes cannot be on a system, or with the rest of the settings. */
export function processFaults(
  { processes, max_connections: connections, databases }: ParsedConfig,
  os: typeof Deno.build.os,
  locate: Locate,
): Fault[] {
  if (processes === 1) return [];
  const embedded = databases.findIndex((database) => database.embedded !== undefined);
  const messages = [
    os !== "linux" && "need Linux, where processes can share a port: expected 1",
    processes > connections &&
    `cannot share max_connections, which is ${connections}: each needs one at least`,
    embedded >= 0 && `cannot share databases[${embedded}].embedded, which belongs to one process: expected 1`,
  ].filter((message) => message !== false);
  return messages.map((message) => ({
    path: "processes",
    ...locate(["processes"]),
    message: `${processes} ${message}`,
  }));
}
