import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import { AppError } from "../../../core/app_error.ts";
import { withDeadline } from "../../../core/async/deadline.ts";
import type { Principal } from "../../../core/principal.ts";
import { accessTo, type ScopesByTool, toolOf } from "../../../identity/access_rules.ts";
import type { DatabaseAddress, DatabaseDirectory } from "./database_directory.ts";
import { connectionTools } from "../../builtin_kinds.ts";
import { defineTool, type Tool } from "../tool.ts";

const unknownAddress: DatabaseAddress = { host: "", port: 0, database: "", user: "", sslmode: "" };

/** The methods `pgedge/listDatabases` and `pgedge/selectDatabase`, which pgEdge's command line calls for its user. */
export function databaseMethods(directory: DatabaseDirectory, scopesByTool: ScopesByTool = {}) {
  /** What a caller may not call as a tool is not to be had by a method either. @throws {AppError} `forbidden` */
  function requireTool(principal: Principal, alias: keyof typeof connectionTools): void {
    const name = connectionTools[alias];
    const accesses = [name, alias].map((each) => accessTo(principal, toolOf(each, scopesByTool)));
    if (accesses.some(({ kind }) => kind === "granted")) return;
    const lacking = accesses.find((access) => access.kind === "insufficient_scope");
    const reason = lacking?.missing ?? "it is not among the tools of the access token";
    const data = lacking && { data: { scopes: lacking.scopes } };
    throw new AppError("forbidden", `Cannot call "${name}": ${reason}`, data);
  }

  return {
    /** How many there are to choose from. */
    count: (principal: Principal): number => directory.list(principal).length,
    listDatabases(principal: Principal) {
      requireTool(principal, "list_database_connections");
      const databases = directory.list(principal);
      return {
        databases: databases.map(({ name }) => {
          const { host, port, database, user, sslmode } = directory.addressOf(principal, name) ??
            unknownAddress;
          return { name, host, port, database, user, sslmode, allow_writes: false };
        }),
        current: databases.find(({ current }) => current)?.name ?? "",
      };
    },
    /** @throws {AppError} `invalid` where no name is given; `forbidden` */
    async selectDatabase({ name }: Readonly<Record<string, unknown>>, principal: Principal) {
      requireTool(principal, "select_database_connection");
      if (typeof name !== "string" || name === "") {
        throw new AppError("invalid", "Cannot select a database: params.name must be a string");
      }
      try {
        await directory.select(principal, name);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        return { success: false, error: error.message };
      }
      return { success: true, current: name, message: switchedTo(name) };
    },
  };
}

const switchedTo = (name: string) => `Switched to database: ${name}`;

const place = {
  database: z.string(),
  host: z.string(),
  port: z.int(),
  hosts: z.array(z.object({ host: z.string(), port: z.int() })).optional(),
  target_session_attrs: z.string().optional(),
  allow_writes: z.boolean(),
};

function placeOf(address: DatabaseAddress) {
  const { user: _user, sslmode: _sslmode, hosts, target_session_attrs, ...shown } = address;
  return {
    ...shown,
    ...(hosts !== undefined && { hosts: [...hosts] }),
    ...defined({ target_session_attrs }),
    allow_writes: false,
  };
}

/** How long a server may take to answer before its database counts as unavailable. */
const statusWaitMs = 2_000;

/** `list_databases` by the name that it has in pgEdge's server, with the answer that it has there. */
export function listDatabaseConnections({ directory }: { readonly directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "list_database_connections",
    title: "List database connections",
    description: "The same as list_databases, with where each database is and whether it answers.",
    hidden: true,
    input: z.strictObject({}),
    output: z.object({
      databases: z.array(
        z.object({ name: z.string(), ...place, status: z.enum(["connected", "unavailable"]) }),
      ),
      current: z.string(),
    }),
    annotations: { idempotentHint: true },
    async run(_args, { principal, signal }) {
      const listed = directory.list(principal);
      const data = {
        databases: await Promise.all(listed.map(async ({ name }) => ({
          name,
          ...placeOf(directory.addressOf(principal, name) ?? unknownAddress),
          status: await isReachable(directory, principal, name, signal)
            ? "connected" as const
            : "unavailable" as const,
        }))),
        current: listed.find(({ current }) => current)?.name ?? "",
      };
      return { text: JSON.stringify(data, null, 2), data };
    },
  });
}

async function isReachable(
  directory: DatabaseDirectory,
  principal: Principal,
  name: string,
  signal: AbortSignal,
): Promise<boolean> {
  const database = directory.resolve(principal, name);
  try {
    await withDeadline(statusWaitMs, signal, database.ping);
    return true;
  } catch {
    signal.throwIfAborted();
    return false;
  }
}

/** `select_database` likewise. */
export function selectDatabaseConnection({ directory }: { readonly directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "select_database_connection",
    title: "Select database connection",
    description: "The same as select_database.",
    hidden: true,
    input: z.strictObject({ name: z.string().min(1).max(128) }),
    output: z.object({ success: z.boolean(), message: z.string(), current: z.string(), ...place }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    async run({ name }, { principal }) {
      await directory.select(principal, name);
      const data = {
        success: true,
        message: switchedTo(name),
        current: name,
        ...placeOf(directory.addressOf(principal, name) ?? unknownAddress),
      };
      return { text: JSON.stringify(data, null, 2), data };
    },
  });
}
