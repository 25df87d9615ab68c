import { Buffer } from "node:buffer";
import { serialize } from "pg-protocol";
import { pg } from "../connection.ts";
import type { Parameter } from "../sql_text.ts";
import { sha256 } from "../../core/text/sha256.ts";

export interface Column {
  readonly name: string;
  readonly typeOid: number;
}

/** Values in PostgreSQL's own text format. */
export type Row = readonly (string | null)[];

/** An answer that is fetched in parts. It lives until its transaction ends or the next one is opened. */
export interface Portal {
  /** Whether all rows have been fetched. */
  isDone(): boolean;
  /** Fetches up to so many rows more. */
  fetch(rows: number): Promise<void>;
}

export interface PortalRequest {
  readonly sql: string;
  readonly parameters: readonly Parameter[];
  /** Whether the session keeps the statement under a name, parsed, for the next time. */
  readonly isKept?: boolean;
  /** How many rows to fetch with the opening; 0 for all. */
  readonly rows: number;
  readonly onColumns: (columns: readonly Column[]) => void;
  /** Gets each row with its size on the wire in bytes. */
  readonly onRow: (row: Row, bytes: number) => void;
}

/** A statement of our own with the values of its `$1` and on, which `pg_stat_activity` does not show. */
export type OwnStatement = readonly [sql: string, ...values: string[]];

/** Statements of our own around the portal's, in the same write; what they answer is not looked at. */
export interface Around {
  readonly before: readonly OwnStatement[];
  readonly after: readonly OwnStatement[];
  /** Called when those before have run, which the server then says before it comes to the portal's. Optional. */
  readonly onBegun?: (() => void) | undefined;
}

/**
 * Runs one statement by the extended protocol: Parse, Bind, Describe and Execute, so that the server itself takes one
 * statement only, and those around it, all in one write with one Sync at its end: what follows an error is not run
 * (PostgreSQL manual, "Pipelining"). Must be in a transaction, or the portal would end with the first part.
 *
 * @returns undefined where the statement was kept and does not do any more, because what it reads has changed or the session
 * has lost it: nothing of it has run, the transaction has failed, and the next time it is prepared anew
 * @throws what the server answers or the connection fails with
 */
export async function openPortal(
  client: pg.Client,
  request: PortalRequest,
  around: Around,
): Promise<Portal | undefined> {
  const { sql, parameters, isKept, rows, onColumns, onRow } = request;
  const values = [...parameters];
  const kept = isKept ? keptStatement(client, sql) : undefined;
  const opening = [
    // else what the server answers stays in its buffer until it is full
    ...(around.onBegun === undefined ? [] : [flush]),
    ...(kept === undefined ? [serialize.parse({ text: sql })] : kept.preparation),
    serialize.bind({ statement: kept?.name ?? "", values }),
    serialize.describe(portal),
  ];
  let isBegun = false;
  const onBegun = () => {
    isBegun = true;
    kept?.begun();
    around.onBegun?.();
  };
  let isPlanned = false;
  const onPlanned = (columns: readonly Column[]) => {
    isPlanned = true;
    onColumns(columns);
  };
  let isSuspended: boolean;
  try {
    isSuspended = await runPart(client, { ...around, opening, rows, onBegun, onColumns: onPlanned, onRow });
  } catch (error) {
    if (!isBegun) throw error;
    kept?.forget();
    const wasKept = kept !== undefined && kept.preparation.length === 0;
    if (wasKept && !isPlanned && mayBeOutdated(error)) return undefined;
    throw error;
  }
  return {
    isDone: () => !isSuspended,
    async fetch(more) {
      if (!isSuspended) return;
      isSuspended = await runPart(client, {
        opening: [],
        rows: more,
        onBegun: () => {},
        onColumns,
        onRow,
        before: [],
        after: [],
      });
    },
  };
}

/** Not where the statement was cancelled, or the session has ended (classes 57 and 08). */
function mayBeOutdated(error: unknown): boolean {
  return error instanceof pg.DatabaseError && !/^(?:08|57)/.test(error.code ?? "");
}

interface PartOptions extends Pick<PortalRequest, "rows" | "onColumns" | "onRow">, Around {
  /** Messages that come before its Execute. */
  readonly opening: readonly Buffer[];
  /** Called when the server comes to them. */
  readonly onBegun: () => void;
}

/** Executes the portal for so many rows; whether there may be more. */
function runPart(client: pg.Client, part: PartOptions): Promise<boolean> {
  const { opening, rows, onBegun, onColumns, onRow, before, after } = part;
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let isSuspended = false;
  /** Statements that have come to their end. */
  let done = 0;
  const onDone = () => {
    done++;
    if (done === before.length) onBegun();
  };
  const messages = Buffer.concat([
    ...before.map(messagesOf),
    ...opening,
    serialize.execute({ rows }),
    ...after.map(messagesOf),
    sync,
  ]);
  const stopCopy = (connection: pg.Connection) => connection.stream.destroy();
  // what the driver calls while this is the running query
  client.query({
    submit(connection: pg.Connection) {
      if (before.length === 0) onBegun();
      connection.stream.write(messages);
    },
    // only the portal is described
    handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }) {
      onColumns(fields.map(({ name, dataTypeID }) => ({ name, typeOid: dataTypeID })));
    },
    handleDataRow({ fields, length }: { fields: Row; length: number }) {
      if (done === before.length) onRow(fields, length);
    },
    handlePortalSuspended() {
      isSuspended = true;
      onDone();
    },
    handleCommandComplete: onDone,
    handleEmptyQuery: onDone,
    handleCopyInResponse: stopCopy,
    handleCopyData: (_message: unknown, connection: pg.Connection) => stopCopy(connection),
    handleReadyForQuery: () => resolve(isSuspended),
    handleError: (error: unknown) => reject(error),
  });
  return promise;
}

/** The unnamed portal. */
const portal = { type: "P", name: "" } as const;
const sync = serialize.sync();
const flush = serialize.flush();

/** Runs a statement to its end. */
function messagesOf(statement: OwnStatement): Buffer {
  return edges.get(statement[0]) ?? serializeWhole(statement);
}

function serializeWhole([text, ...values]: OwnStatement): Buffer {
  return Buffer.concat([serialize.parse({ text }), serialize.bind({ values }), serialize.execute({})]);
}

/** Those of every transaction, made once. */
const edges = new Map(["BEGIN READ ONLY", "ROLLBACK"].map((sql) => [sql, serializeWhole([sql])]));

/** How many statements one session keeps: each may hold some 100 kB of the server's memory. */
const keptAtMost = 8;

interface Statement {
  /** It follows from the text, so that a session which is not the one we take it for has no other statement under it. */
  readonly name: string;
  /** Whether the session has it, as far as is known. */
  isPrepared: boolean;
}

/** By session, the statements that it keeps, by their texts; the one that was asked for last comes last. */
const statementsOf = new WeakMap<pg.Client, Map<string, Statement>>();

/**
 * A statement that a session keeps under a name, so that the server parses it once (PostgreSQL manual, "Extended Query": a
 * named statement lasts until it is closed). It takes the place of the one that was not asked for the longest. What was sent
 * after a statement that fails is not run, so nothing is noted before the server has come to it.
 */
function keptStatement(client: pg.Client, text: string) {
  const statements = statementsOf.get(client) ?? new Map<string, Statement>();
  statementsOf.set(client, statements);
  const known = statements.get(text);
  const statement = known ?? { name: nameOf(text), isPrepared: false };
  const { name, isPrepared } = statement;
  const [oldest] = statements;
  const replaced = known === undefined && statements.size >= keptAtMost ? oldest : undefined;
  // to close what is not there is no error
  const closing = [replaced?.[1].name, isPrepared ? undefined : name].filter((name) => name !== undefined);
  return {
    name,
    /** What to send first: nothing where the session has the statement. */
    preparation: [
      ...closing.map((name) => serialize.close({ type: "S", name })),
      ...(isPrepared ? [] : [serialize.parse({ name, text })]),
    ],
    /** The server comes to the preparation: it replaces the one that was not asked for the longest, and keeps this one. */
    begun(): void {
      if (replaced !== undefined) statements.delete(replaced[0]);
      // it comes last
      statements.delete(text);
      statements.set(text, statement);
      statement.isPrepared = true;
    },
    /** Has it prepared anew the next time. */
    forget: () => void (statement.isPrepared = false),
  };
}

/** At most 63 bytes, which PostgreSQL's names have. */
function nameOf(text: string): string {
  return `postern_${sha256(text).slice(0, 32)}`;
}
