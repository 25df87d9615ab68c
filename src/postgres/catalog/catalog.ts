import type { Catalog, CatalogTable } from "../../core/catalog.ts";
import type { Principal } from "../../core/principal.ts";
import { AppError } from "../../core/app_error.ts";
import { forEachInSlices } from "../../core/async/yield.ts";
import { allowedValues } from "./allowed_values.ts";
import { catalogSql } from "./catalog_sql.ts";
import type { Database } from "../database.ts";
import type { Row } from "../read/portal.ts";

export interface CatalogFilter {
  readonly schema?: string;
  readonly table?: string;
  /** Only tables with a pgvector column. */
  readonly vectorTablesOnly?: boolean;
}

interface CatalogRequest {
  readonly principal: Principal;
  readonly signal: AbortSignal;
  readonly filter?: CatalogFilter;
}

/** What a statement's author needs to know of the server, and of the sessions in which the caller's statements run. */
export interface SessionFacts {
  /** The major one, as in `15`. */
  readonly version: string;
  /** The session's setting, as in `Europe/Berlin`. */
  readonly timeZone: string;
  /** East of Greenwich, at the time when it was read. */
  readonly utcOffsetSeconds: number;
}

/** A catalog with what tells whether it is still that of the database. */
export interface CatalogState {
  readonly catalog: Catalog;
  /** As `readFingerprint` gives it, taken no later than the catalog. */
  readonly fingerprint: string;
  /** False where defaults, CHECK lists and indexes of a table were left out, as another transaction had it locked. */
  readonly isWhole: boolean;
  readonly session: SessionFacts;
}

/** The CHECK expressions of each column; null for one that was dropped just now. */
type Checks = Readonly<Record<string, readonly (string | null)[]>>;

/** The database's own statement timeout may be shorter than what thousands of tables take. */
const timeoutMs = 60_000;

/**
 * Reads the tables, views and columns that the caller's role may select from, system schemas and partitions left out.
 * Of a table that another transaction has locked against reading, defaults, CHECK lists and indexes are left out.
 *
 * @throws {AppError} `unavailable` where the database cannot be reached, `timeout` where it takes longer than a minute,
 * `upstream` where it cannot be read or not in full
 */
export async function readCatalog(database: Database, request: CatalogRequest): Promise<Catalog> {
  return { tables: await parseTables(await readRows(database, request, false)) };
}

/** Reads the whole catalog as {@linkcode readCatalog} does, and its fingerprint with it. @throws {AppError} likewise */
export async function readCatalogState(
  database: Database,
  request: Omit<CatalogRequest, "filter">,
): Promise<CatalogState> {
  const rows = await readRows(database, request, true);
  const [, fingerprint, isWhole, session] = rows[0] ?? [];
  return {
    catalog: { tables: await parseTables(rows) },
    fingerprint: fingerprint ?? "",
    isWhole: isWhole === "t",
    session: JSON.parse(session ?? "{}"),
  };
}

async function readRows(
  database: Database,
  { principal, signal, filter = {} }: CatalogRequest,
  withFingerprint: boolean,
): Promise<readonly Row[]> {
  const outcome = await database.read({
    principal,
    signal,
    sql: catalogSql({ withFingerprint }),
    parameters: [filter.schema ?? null, filter.table ?? null, String(filter.vectorTablesOnly ?? false)],
    trusted: true,
    timeoutMs,
  });
  if (outcome.ok && outcome.truncatedBy === undefined) return outcome.rows;
  const [code, reason] = outcome.ok
    ? ["upstream", `it has more ${outcome.truncatedBy} than can be read`] as const
    : [outcome.error.kind === "timeout" ? "timeout" : "upstream", outcome.error.message] as const;
  const sqlState = outcome.ok ? undefined : outcome.error.sqlState;
  throw new AppError(code, `Cannot read the catalog of database "${database.name}": ${reason}`, {
    ...(sqlState === undefined ? {} : { data: { sqlState } }),
  });
}

async function parseTables(rows: readonly Row[]): Promise<CatalogTable[]> {
  const tables: CatalogTable[] = [];
  await forEachInSlices(rows, ([json]) => {
    if (json !== undefined && json !== null) tables.push(parseTable(json));
  });
  return tables;
}

function parseTable(json: string): CatalogTable {
  const parsed: CatalogTable & { checks: Checks | null } = JSON.parse(json);
  const { checks, ...table } = parsed;
  if (checks === null) return table;
  const listed = new Map(Object.entries(checks));
  const columns = table.columns.map((column) => {
    const expressions = listed.get(column.name);
    return expressions === undefined
      ? column
      : { ...column, allowedValues: allowedValues(expressions.filter((text) => text !== null)) };
  });
  return { ...table, columns };
}
