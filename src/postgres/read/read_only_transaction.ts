import { AppError } from "../../core/app_error.ts";
import type { Principal } from "../../core/principal.ts";
import type { pg } from "../connection.ts";
import { type DatabaseOptions, sessionSettings, timeoutSettings } from "../database_options.ts";
import { quoteLiteral } from "../sql_text.ts";
import { type CallerOptions, callerSettings } from "./caller_settings.ts";
import { openPortal, type OwnStatement, type Portal, type PortalRequest, type Row } from "./portal.ts";

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
 * comes last: what it may set is not the login's. What a caller's claims say is bound, since every session of the login
 * reads the texts of the others in `pg_stat_activity`.
 *
 * @throws {AppError} `invalid` for a text that PostgreSQL has no place for; as `callerSettings` does
 */
export function beginReadOnly(options: TransactionOptions): readonly OwnStatement[] {
  const { database, principal, holdsSettings, timeoutMs = database.statementTimeoutMs, planning } = options;
  const { settings, role } = callerSettings(database, principal);
  const hasOwnTimeout = timeoutMs !== database.statementTimeoutMs;
  const values: string[] = [];
  const set = (name: string, value: string) => `pg_catalog.set_config(${quoteLiteral(name)}, ${value}, true)`;
  const setAsIs = (ours: Readonly<Record<string, string>>) =>
    Object.entries(ours).map(([name, value]) => set(name, quoteLiteral(value)));
  const setBound = ([name, value]: readonly [name: string, value: string]) => {
    if (value.includes("\0")) {
      throw new AppError("invalid", `Cannot set ${name}: its value holds a NUL character`);
    }
    return set(name, `$${values.push(value)}`);
  };
  const calls = [
    ...setAsIs(holdsSettings ? {} : sessionSettings(database)),
    ...setAsIs(hasOwnTimeout ? timeoutSettings(timeoutMs) : {}),
    ...settings.map(setBound),
    ...setAsIs(planning ?? {}),
    ...(role === undefined ? [] : [setBound(["role", role])]),
  ];
  return calls.length === 0
    ? [["BEGIN READ ONLY"]]
    : [["BEGIN READ ONLY"], [`SELECT ${calls.join(", ")}`, ...values]];
}

export interface ReadOnlyTransaction {
  /**
   * Runs a statement. The first brings the opening of the transaction along, in the same write; one whose first part is all
   * that is wanted of it brings the end, and is the last.
   *
   * @throws as {@linkcode openPortal}
   */
  open(request: PortalRequest, isLast: boolean): Promise<Portal>;
  /** All rows of a statement of ours. @throws as `open` */
  rows(sql: string, parameters: readonly string[], isLast: boolean): Promise<Row[]>;
}

/**
 * Runs `run` in a read-only transaction and rolls back, whatever comes of it.
 *
 * @param begin as {@linkcode beginReadOnly} gives it
 * @param onBegun called when the server has opened it, which it says before it begins with a statement. Optional
 * @throws what `run` throws, or what PostgreSQL answers to `begin`
 */
export async function inReadOnlyTransaction<T>(
  client: pg.Client,
  begin: readonly OwnStatement[],
  run: (transaction: ReadOnlyTransaction) => Promise<T>,
  onBegun?: () => void,
): Promise<T> {
  let isOpen = false;
  const transaction: ReadOnlyTransaction = {
    async open(request, isLast) {
      const before = isOpen ? [] : begin;
      isOpen = true;
      const after: readonly OwnStatement[] = isLast ? [["ROLLBACK"]] : [];
      let portal = await openPortal(client, request, { before, after, onBegun });
      if (portal === undefined) {
        await client.query("ROLLBACK");
        portal = await openPortal(client, request, { before: begin, after });
      }
      if (portal === undefined) throw new Error("expected a statement that was prepared anew");
      // after an error, what follows it in the write has not been run
      isOpen = !isLast;
      return portal;
    },
    async rows(sql, parameters, isLast) {
      const rows: Row[] = [];
      const onRow = (row: Row) => rows.push(row);
      await transaction.open({ sql, parameters, rows: 0, onColumns: () => {}, onRow }, isLast);
      return rows;
    },
  };
  try {
    return await run(transaction);
  } finally {
    // a connection that cannot roll back is not in a state to be lent again, and its lease sees to that
    if (isOpen) await client.query("ROLLBACK").catch(() => {});
  }
}
