import type { DatabaseOptions } from "./database_options.ts";
import { timeoutSettings } from "./read/statement_timeout.ts";
import { guardedSettings } from "./session_setting_kinds.ts";

/**
 * PostgreSQL's settings that every statement of a database runs under, by name. Callers may not change them: `SET` and
 * `set_config` are refused. A connection begins with them (connection.ts). Behind a pooler, where the next transaction may
 * run on another connection, they travel with each transaction (read/read_only_transaction.ts).
 */
export function sessionSettings(
  { statementTimeoutMs }: { readonly statementTimeoutMs: number },
): Readonly<Record<string, string>> {
  return {
    // to compile our own look at what a statement's names mean takes seconds where there are many tables
    jit: "off",
    ...guardedSettings,
    ...timeoutSettings(statementTimeoutMs),
  };
}

/**
 * The settings that a session of a database begins with; undefined where a pooler may put it on another connection at any
 * time, and for the embedded server, whose clients take turns on the one that it has.
 */
export function startSettings(
  options: Pick<DatabaseOptions, "statementTimeoutMs" | "pooler" | "openStream">,
): Readonly<Record<string, string>> | undefined {
  const isShared = options.pooler === "transaction" || options.openStream !== undefined;
  return isShared ? undefined : sessionSettings(options);
}
