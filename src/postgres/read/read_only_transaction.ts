import type { Principal } from "../../core/principal.ts";
import type { pg } from "../connection.ts";
import type { DatabaseOptions } from "../database_options.ts";
import { sessionSettings } from "../start_settings.ts";
import { quoteLiteral } from "../sql_text.ts";
import { type CallerOptions, callerSettings } from "./caller_settings.ts";
import { openPortal, type Portal, type PortalRequest } from "./portal.ts";
import { timeoutSettings } from "./statement_timeout.ts";

interface TransactionOptions {
  readonly database: CallerOptions & Pick<DatabaseOptions, "statementTimeoutMs">;
  readonly principal: Principal;
  /** Whether the connection began with the settings of its database and keeps them. */
  readonly holdsSettings: boolean;
  /** The statement's own timeout; the database's where it is absent. */
  readonly timeoutMs?: number;
  /** Settings of our own statements, such as an index's `hnsw.ef_search`. */
  readonly planning?: Readonly<Record<string, string>> | undefined;
}

/**
 * The statements that open a principal's read-only transaction. Their settings hold for this transaction alone, and a role
 * comes last: what it may set is not the login's.
 *
 * @throws {AppError} `invalid` for a text that PostgreSQL has no place for; as `callerSettings` does
 */
export function beginReadOnly(options: TransactionOptions): readonly string[] {
  const { database, principal, holdsSettings, timeoutMs = database.statementTimeoutMs, planning } = options;
  const caller = callerSettings(database, principal);
  const hasOwnTimeout = timeoutMs !== database.statementTimeoutMs;
  const settings = [
    ...Object.entries(holdsSettings ? {} : sessionSettings(database)),
    ...Object.entries(hasOwnTimeout ? timeoutSettings(timeoutMs) : {}),
    ...caller.settings,
    ...Object.entries(planning ?? {}),
    ...(caller.role === undefined ? [] : [["role", caller.role] as const]),
  ];
  if (settings.length === 0) return ["BEGIN READ ONLY"];
  const calls = settings.map(([name, value]) =>
    `pg_catalog.set_config(${quoteLiteral(name)}, ${quoteLiteral(value)}, true)`
  );
  return ["BEGIN READ ONLY", `SELECT ${calls.join(", ")}`];
}

export interface ReadOnlyTransaction {
  /**
   * Runs a statement. The first brings the opening of the transaction along, in the same write; one whose first part is all
   * that is wanted of it brings the end, and is the last.
   *
   * @throws as {@linkcode openPortal}
   */
  open(request: PortalRequest, isLast: boolean): Promise<Portal>;
}

/**
 * Runs `run` in a read-only transaction and rolls back, whatever comes of it.
 *
 * @param begin as {@linkcode beginReadOnly} gives it
 * @throws what `run` throws, or what PostgreSQL answers to `begin`
 */
export async function inReadOnlyTransaction<T>(
  client: pg.Client,
  begin: readonly string[],
  run: (transaction: ReadOnlyTransaction) => Promise<T>,
): Promise<T> {
  let isOpen = false;
  const transaction: ReadOnlyTransaction = {
    async open(request, isLast) {
      const before = isOpen ? [] : begin;
      isOpen = true;
      const after = isLast ? ["ROLLBACK"] : [];
      let portal = await openPortal(client, request, { before, after });
      if (portal === undefined) {
        await client.query("ROLLBACK");
        portal = await openPortal(client, request, { before: begin, after });
      }
      if (portal === undefined) throw new Error("expected a statement that was prepared anew");
      // after an error, what follows it in the write has not been run
      isOpen = !isLast;
      return portal;
    },
  };
  try {
    return await run(transaction);
  } finally {
    // a connection that cannot roll back is not in a state to be lent again, and its lease sees to that
    if (isOpen) await client.query("ROLLBACK").catch(() => {});
  }
}
