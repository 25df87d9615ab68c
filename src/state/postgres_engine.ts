import { AppError } from "../core/app_error.ts";
import { settlesWithin, withDeadline } from "../core/async/deadline.ts";
import { createQueue } from "../core/async/queue.ts";
import type { Logger } from "../core/logger.ts";
import { connect } from "../postgres/connect/connect.ts";
import { type Connection, pg } from "../postgres/connection.ts";
import type { DatabaseOptions } from "../postgres/database_options.ts";
import { stateSchema } from "../postgres/own_schema.ts";
import {
  layoutVersion,
  probes,
  type StateEngine,
  stateIsAway,
  type Statement,
  type StateRow,
  tables,
} from "./engine.ts";

/** What servers are told of changes by. */
const channel = stateSchema;

/** How long an answer is waited for before its connection counts as lost. */
const answerMs = 5_000;
/** That wait for those before them to be answered; more are refused. */
const mostWaiting = 5_000;
/** Between two attempts to connect, where nobody asks. */
const connectEveryMs = 1_000;
/** Before the log says again what it has said. */
const tellAgainMs = 60_000;
/** How far the clocks may be apart before a warning. */
const clockToleranceMs = 2_000;

/**
 * The state in PostgreSQL, over one connection of its own, which opens again by itself. Behind a pooler nobody is told of
 * changes: then whoever uses it asks.
 *
 * @throws {AppError} `invalid`, `conflict` or `forbidden` where the database answers and cannot be used; one that does not
 * answer is waited for
 */
export async function openPostgresEngine(
  { database, waits = true, logger }: {
    readonly database: DatabaseOptions;
    /** Whether a database that does not answer is waited for. Optional; the default is true. */
    readonly waits?: boolean;
    readonly logger: Logger;
  },
): Promise<StateEngine> {
  const name = `database ${JSON.stringify(database.name)}`;
  const listeners: ((isAnew: boolean) => void)[] = [];
  const stopping = new AbortController();
  let opening: Promise<Connection> | undefined;
  const queue = createQueue();
  let waiting = 0;
  let aheadMs = 0;
  /** Why it cannot be reached. */
  let away: string | undefined;
  let told: { readonly why: string; readonly at: number } | undefined;

  async function open(): Promise<Connection> {
    const connection = await connect(database, { signal: stopping.signal, logger });
    try {
      aheadMs = await prepare(connection, name, database.pooler === "none");
    } catch (error) {
      await connection.close();
      throw error;
    }
    connection.client.on("notification", () => listeners.forEach((listener) => listener(false)));
    connection.onClosed(() => opening = undefined);
    if (Math.abs(aheadMs) > clockToleranceMs) {
      const seconds = Math.abs(Math.round(aheadMs / 1_000));
      const which = aheadMs > 0 ? "behind" : "ahead of";
      logger.warn(`This machine's clock is ${seconds} s ${which} that of the state's ${name}: set it`);
    }
    if (away !== undefined) logger.info(`The state's ${name} answers again`);
    away = undefined;
    told = undefined;
    for (const listener of listeners) listener(true);
    return connection;
  }

  function connected(): Promise<Connection> {
    if (opening !== undefined) return opening;
    const attempt = open();
    opening = attempt;
    attempt.catch(() => {
      if (opening === attempt) opening = undefined;
    });
    return attempt;
  }

  /** One after the other: the time of an answer counts from when it is asked. */
  async function ask(text: string): Promise<readonly (readonly StateRow[])[]> {
    // while it is away nobody waits for it: it is tried again by itself
    if (away !== undefined || waiting >= mostWaiting) {
      throw new AppError("unavailable", stateIsAway, { data: { retryAfterSeconds: 1 } });
    }
    waiting++;
    try {
      return await queue.run(() => askNow(text));
    } finally {
      waiting--;
    }
  }

  async function askNow(text: string): Promise<readonly (readonly StateRow[])[]> {
    try {
      const connection = await withDeadline(answerMs, stopping.signal, () => connected());
      const answer = connection.client.query(text);
      if (!await settlesWithin(answerMs, answer.catch(() => {}))) connection.destroy();
      const results: pg.QueryResult | pg.QueryResult[] = await answer;
      return [results].flat().map(({ rows }) => rows);
    } catch (cause) {
      const isAnswer = cause instanceof pg.DatabaseError;
      if (isAnswer && !isOfServer(cause)) throw cause;
      // what a full disk refuses, others may still read
      if (isAnswer) tell(cause);
      else tellAway(cause);
      throw new AppError("unavailable", stateIsAway, { cause, data: { retryAfterSeconds: 1 } });
    }
  }

  /** Once a minute for each reason. */
  function tell(cause: unknown): string {
    const why = cause instanceof Error ? cause.message : String(cause);
    const now = performance.now();
    const isTold = told?.why === why && now - told.at < tellAgainMs;
    if (isTold || stopping.signal.aborted) return why;
    logger.warn(`The state's ${name} cannot be used at the moment: ${why}`);
    told = { why, at: now };
    return why;
  }

  const tellAway = (cause: unknown): void => void (away = tell(cause));

  try {
    await connected();
    const hosts = database.hosts.map(({ host, port }) => `${host}:${port}`).join(", ");
    logger.info(`Sessions and grants are kept in ${name} at ${hosts}`);
  } catch (error) {
    if (!waits || !(error instanceof AppError) || !mayPass(error)) throw namingSetting(error, name);
    tellAway(error);
  }
  const timer = setInterval(() => void connected().catch(tellAway), connectEveryMs);
  Deno.unrefTimer(timer);
  return {
    name,
    isShared: true,
    async run(statements, { isTold = false } = {}) {
      const texts = [
        `SET LOCAL search_path = ${stateSchema}`,
        ...statements.map(textOf),
        ...isTold ? [`SELECT pg_notify('${channel}', '')`] : [],
      ];
      const [, ...rows] = await ask(texts.join(";\n"));
      return rows.slice(0, statements.length);
    },
    onChanged: (listener) => void listeners.push(listener),
    now: () => Date.now() + aheadMs,
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      const last = opening;
      stopping.abort(new AppError("unavailable", "Cannot use the state: the server stops"));
      await (await last?.catch(() => undefined))?.close();
    },
  };
}

/**
 * Looks whether a database can be used, and has it tell of changes.
 *
 * @returns how many milliseconds its clock is ahead of this machine's
 */
async function prepare({ client }: Connection, name: string, listens: boolean): Promise<number> {
  const fail = (code: "invalid" | "conflict" | "forbidden", reason: string) =>
    new AppError(code, `Cannot use ${name} for the state: ${reason}`);
  const setUp = "run -setup-state, and give what it prints to psql there";
  try {
    const { rows: [found] } = await client.query<{ layout: boolean; standby: boolean }>(
      `SELECT to_regclass('${stateSchema}.layout') IS NOT NULL AS layout, pg_is_in_recovery() AS standby`,
    );
    if (found?.standby) throw fail("invalid", "it is a standby, where nothing can be written");
    if (!found?.layout) throw fail("invalid", `the schema ${stateSchema} is missing or incomplete; ${setUp}`);
    const { rows: [layout] } = await client.query<{ version: number; usable_from: number }>(
      `SELECT max(version) AS version, max(usable_from) AS usable_from FROM ${stateSchema}.layout`,
    );
    const { version = 0, usable_from: usableFrom = 0 } = layout ?? {};
    if (usableFrom > layoutVersion) {
      const reason = `a newer version of Postern made its tables (layout ${version}); run that version`;
      throw fail("conflict", reason);
    }
    if (version < layoutVersion) throw fail("invalid", `its tables are an older version's; ${setUp}`);
    await client.query(
      [
        `SET LOCAL search_path = ${stateSchema}`,
        ...probes,
        // fails for a role that may only read; no row is like that
        "UPDATE clock SET version = version WHERE version < 0",
        "DELETE FROM records WHERE version < 0",
        "DELETE FROM ended WHERE version < 0",
        "DELETE FROM usage WHERE version < 0",
      ].join(";\n"),
    );
  } catch (cause) {
    if (!(cause instanceof pg.DatabaseError)) throw cause;
    const refusals: Readonly<Record<string, string>> = {
      "42501": "its role may not read and write the tables",
      "25006": "its transactions only read",
    };
    const reason = refusals[cause.code ?? ""] ??
      `its tables are not as this version needs them (${cause.message})`;
    throw new AppError("forbidden", `Cannot use ${name} for the state: ${reason}; ${setUp}`, { cause });
  }
  if (listens) await client.query(`LISTEN ${channel}`);
  const { rows: [clock] } = await client.query<{ now: string }>(
    "SELECT round(extract(epoch FROM clock_timestamp()) * 1000)::text AS now",
  );
  return Number(clock?.now) - Date.now();
}

/** Whether another moment may do: not where the database refuses the role, or there is none of that name. */
function mayPass({ code, data }: AppError): boolean {
  return code === "unavailable" && !/^(28|3D)/.test(String(data?.["sqlState"] ?? ""));
}

function namingSetting(error: unknown, name: string): unknown {
  if (!(error instanceof AppError) || error.code !== "unavailable") return error;
  const message = `Cannot use ${name} for the state, see state in the configuration: ${error.message}`;
  return new AppError("unavailable", message, { cause: error });
}

/** Whether not the statement has the fault: the server stops, starts or has no room, or the tables are gone for a moment. */
function isOfServer({ code = "" }: pg.DatabaseError): boolean {
  return /^(57P|08|53|42|3F)/.test(code) || code === "25006";
}

/** With its values as literals: so several go in one message, in one transaction and one round trip. */
function textOf({ text, values }: Statement): string {
  return text.map((part, at) => {
    if (at === values.length) return part;
    const value = values[at] ?? null;
    if (typeof value === "number") return `${part}${Number.isFinite(value) ? Math.trunc(value) : "NULL"}`;
    if (value?.includes("\0")) throw new AppError("invalid", "Cannot keep a text with the character U+0000");
    return part + (value === null ? "NULL" : pg.escapeLiteral(value));
  }).join("");
}

/** SQL that an administrator runs: the tables, and a role that may use these and nothing else. */
export function setUpSql(role: string): string {
  const quotedRole = pg.escapeIdentifier(role);
  return `-- Postern prints this and runs none of it. Read it, then run it with psql in the database that keeps the state,
-- as a role that may make schemas and roles. It may be run again. Give a new role a password with \\password.
-- What PUBLIC may do holds for this role too.
DO $setup$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = ${pg.escapeLiteral(role)}) THEN
    CREATE ROLE ${quotedRole} LOGIN;
  END IF;
END $setup$;
BEGIN;
CREATE SCHEMA IF NOT EXISTS ${stateSchema};
REVOKE ALL ON SCHEMA ${stateSchema} FROM PUBLIC;
SET LOCAL search_path = ${stateSchema};
CREATE TABLE IF NOT EXISTS layout (version INT NOT NULL PRIMARY KEY, usable_from INT NOT NULL);
DO $setup$ BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('${stateSchema}'));
  IF NOT EXISTS (SELECT FROM layout WHERE version >= ${layoutVersion}) THEN
${tables.map((table) => `    ${table.replaceAll("\n", "\n    ")};`).join("\n")}
    INSERT INTO layout (version, usable_from) VALUES (${layoutVersion}, ${layoutVersion});
  END IF;
END $setup$;
GRANT USAGE ON SCHEMA ${stateSchema} TO ${quotedRole};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${stateSchema} TO ${quotedRole};
REVOKE INSERT, UPDATE, DELETE ON layout FROM ${quotedRole};
COMMIT;
`;
}
