import assert from "node:assert/strict";
import { silentLogger } from "../../../../src/core/logger.ts";
import { pg } from "../../../../src/postgres/connection.ts";
import { createDatabase, type Database } from "../../../../src/postgres/database.ts";
import { createStatementGuard, type StatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import {
  type ConnectionPools,
  createConnectionPools,
} from "../../../../src/postgres/pool/connection_pools.ts";
import {
  createTestDatabase,
  runSql,
  type TestDatabase,
  testWithPostgres,
} from "../../../support/database.ts";
import { databaseOptions } from "../../../support/database_options.ts";
import { createLimitedRole } from "../../../support/limited_role.ts";
import { createFuzzSchema, type FuzzSchema, type Marker } from "./generated_schema.ts";
import { createStatementWriter, type FuzzStatement } from "./generated_statements.ts";
import { createRandom, type Random } from "./generated_types.ts";
import { waysToRun } from "./ways_to_run.ts";

const { FUZZ_SECONDS, FUZZ_SEED } = Deno.env.toObject();
/** Whether it looks for what nobody has seen; else it begins with the same schema each time. */
const isSearch = FUZZ_SECONDS !== undefined;
const seconds = Number(FUZZ_SECONDS ?? 20);
/** Of the first schema; each one after it has the next. */
const firstSeed = Number(FUZZ_SEED ?? (isSearch ? Date.now() % 1_000_000_000 : 1));
const statementsOfMarker = 20;
const mostReports = 20;

const principal = { kind: "local" } as const;
const { signal } = new AbortController();

interface Counts {
  /** Statements that ran where nothing guards them, and those of them that called a marker. */
  ran: number;
  marked: number;
  honest: number;
  /** Honest ones that were refused: a few are, where an operator of the same name is dangerous. */
  readonly refused: string[];
  /** By kind of marker: how many statements called one, and how many of them the guard let through. */
  readonly kinds: Map<string, { marked: number; through: number }>;
  readonly reports: string[];
}

testWithPostgres(
  "no generated statement calls a VOLATILE function, and what has nothing to do with one mostly runs",
  async () => {
    const counts: Counts = { ran: 0, marked: 0, honest: 0, refused: [], kinds: new Map(), reports: [] };
    const until = performance.now() + 1_000 * seconds;
    for (let seed = firstSeed; performance.now() < until && counts.reports.length < mostReports; seed++) {
      await fuzzSchema(seed, until, counts);
    }
    if (isSearch) say(summary(counts));
    assert.deepEqual(counts.reports, []);
    assert.ok(counts.refused.length <= counts.honest / 20, counts.refused.join("\n\n"));
    // else its statements would prove nothing
    assert.ok(counts.marked > counts.ran / 50, summary(counts));
  },
);

function summary({ ran, marked, honest, refused, kinds }: Counts): string {
  const lines = Array.from(
    kinds,
    ([kind, { marked, through }]) => `  ${kind}: ${marked}, ${through} came through`,
  );
  return [
    `${ran} statements ran unguarded, ${marked} called a marker; ${refused.length} of ${honest} honest ones were refused`,
    ...lines,
  ].join(
    "\n",
  );
}

function say(text: string): void {
  Deno.stderr.writeSync(new TextEncoder().encode(`${text}\n`));
}

async function fuzzSchema(seed: number, until: number, counts: Counts): Promise<void> {
  const random = createRandom(seed);
  const encoding = random.pick(["UTF8", "UTF8", "UTF8", "UTF8", "LATIN1", "EUC_JP"]);
  await using utf8 = await createTestDatabase();
  await using database = encoding === "UTF8"
    ? { ...utf8, async [Symbol.asyncDispose]() {} }
    : await createEncodedDatabase(utf8, encoding);
  const admin = new pg.Client({ connectionString: database.url });
  admin.on("error", () => {});
  await admin.connect();
  try {
    const schema = await createFuzzSchema(admin, random, (stem) => nameOf(stem, random, encoding !== "UTF8"));
    await using role = await createLimitedRole(database, 20);
    await admin.query(
      `GRANT USAGE ON SCHEMA far TO ${role.name}; GRANT SELECT ON ALL TABLES IN SCHEMA far TO ${role.name}`,
    );
    await using pools = createConnectionPools({ maxConnections: 8, logger: silentLogger });
    const notices = watchNotices(pools);
    const guard = await createStatementGuard();
    const options = databaseOptions(role.url, { statementTimeoutMs: 3_000, name: "fuzz" });
    for (const marker of schema.markers) {
      if (performance.now() > until) return;
      const dangers = random.chance(0.2) ? [marker, random.pick(schema.markers)] : [marker];
      for (const { signature } of dangers) await admin.query(`ALTER FUNCTION ${signature} VOLATILE`);
      // a new one remembers nothing of how the functions were before
      const database = createDatabase({ options, pools: notices.pools, guard, logger: silentLogger });
      await attack({ database, guard, schema, dangers, random, seed, notices, counts });
      for (const { signature } of dangers) await admin.query(`ALTER FUNCTION ${signature} IMMUTABLE`);
    }
  } finally {
    await admin.end();
  }
}

interface Attack {
  readonly database: Database;
  readonly guard: StatementGuard;
  readonly schema: FuzzSchema;
  /** The functions that are VOLATILE now. */
  readonly dangers: readonly Marker[];
  readonly random: Random;
  readonly seed: number;
  readonly notices: ReturnType<typeof watchNotices>;
  readonly counts: Counts;
}

async function attack(attack: Attack): Promise<void> {
  const { database, guard, schema, dangers, random, notices, counts } = attack;
  const writer = createStatementWriter(schema, random, dangers);
  const ways = waysToRun(database, guard);
  for (let left = statementsOfMarker; left > 0; left--) {
    const statement = writer.statement();
    const way = wayFor(statement, random);
    counts.ran++;
    const { sql, parameters } = statement;
    await database.read({ principal, sql, parameters, signal, trusted: true, maxRows: 100 }).catch(() => {});
    const [marked] = notices.take(dangers);
    if (marked === undefined) continue;
    counts.marked++;
    const kind = counts.kinds.get(marked.kind) ?? { marked: 0, through: 0 };
    counts.kinds.set(marked.kind, kind);
    kind.marked++;
    // a pipeline's table is its administrator's choice, with what its policies call
    if (statement.filter !== undefined) {
      const all = sql.slice(0, sql.indexOf(" WHERE "));
      await database.read({ principal, sql: all, signal, trusted: true, maxRows: 100 }).catch(() => {});
      if (notices.take(dangers).length > 0) continue;
    }
    // whatever else becomes of it
    await ways[way](statement).catch(() => {});
    const [called] = notices.take(dangers);
    if (called === undefined) continue;
    kind.through++;
    counts.reports.push(
      report(attack, `${called.kind} ${called.signature} was called by ${way}`, statement),
    );
  }
  for (let left = 3; left > 0; left--) {
    const sql = writer.honest();
    if (sql === undefined) return;
    counts.honest++;
    const result = await database.read({ principal, sql, signal });
    if (result.ok) continue;
    const what = `an honest statement did not run: ${result.error.message}`;
    counts.refused.push(report(attack, what, { sql, parameters: [] }));
  }
}

function wayFor({ parameters, count, filter, sql }: FuzzStatement, random: Random) {
  if (filter !== undefined) return "pipeline's filter";
  if (count !== undefined && random.chance(0.8)) return "count_rows";
  if (random.chance(0.6)) return "read";
  if (parameters.length > 0 || random.chance(0.3)) {
    return random.pick(["definition", "verified question"] as const);
  }
  const others = ["query_database", "execute_explain", "execute_explain without analyze"] as const;
  return sql.startsWith("VALUES") ? "query_database" : random.pick(others);
}

/** What someone needs to run it again: the seed, and as psql takes it. */
function report({ schema, dangers, seed }: Attack, what: string, { sql, parameters }: FuzzStatement): string {
  return [
    `FUZZ_SEED=${seed}, PostgreSQL ${schema.version}: ${what}`,
    ...schemaOf(schema.ddl, sql, dangers.map(({ signature }) => signature)),
    ...dangers.map(({ signature }) => `ALTER FUNCTION ${signature} VOLATILE`),
    sql,
    ...(parameters.length > 0 ? [`-- with ${JSON.stringify(parameters)}`] : []),
  ].join(";\n");
}

/** Those of the statements that make what the statement names, and what runs the functions. */
function schemaOf(ddl: readonly string[], sql: string, functions: readonly string[]): string[] {
  const namesIn = (text: string) => text.match(/[a-z]+\d+/gi) ?? [];
  const wanted = new Set([sql, ...functions].flatMap(namesIn));
  const marks = new Set(functions.flatMap((signature) => namesIn(signature).slice(0, 1)));
  const isWanted = (made: string) =>
    /^CREATE (OPERATOR|CAST|INDEX)/.test(made)
      ? namesIn(made).some((name) => marks.has(name))
      : namesIn(made).slice(0, 1).some((name) => wanted.has(name));
  for (let size = -1; size !== wanted.size;) {
    size = wanted.size;
    for (const made of ddl.filter(isWanted)) for (const name of namesIn(made)) wanted.add(name);
  }
  return ddl.filter(isWanted).filter((made) => !made.startsWith("INSERT"));
}

/** The pools, with an ear for what PostgreSQL tells on their connections. */
function watchNotices(pools: ConnectionPools) {
  let heard: string[] = [];
  const known = new WeakSet<pg.Client>();
  const acquire: ConnectionPools["acquire"] = async (...args) => {
    const lease = await pools.acquire(...args);
    if (!known.has(lease.client)) {
      known.add(lease.client);
      lease.client.on("notice", ({ message = "", where = "" }) => {
        // what a STABLE function calls is its own matter: whoever declared it so has answered for it
        if ((where.match(/function /g) ?? []).length === 1) heard.push(message);
      });
    }
    return lease;
  };
  return {
    pools: { ...pools, acquire },
    /** Those of the markers that were called since the last time. */
    take(markers: readonly Marker[]): Marker[] {
      const told = heard;
      heard = [];
      return markers.filter(({ id }) => told.includes(`mark ${id}`));
    },
  };
}

/** A name; where its letters are of other lengths than in UTF-8, one that a parser and the database may cut differently. */
function nameOf(stem: string, random: Random, isOdd: boolean): string {
  if (!isOdd || random.chance(0.6)) return random.chance(0.15) ? `"${stem} X"` : stem;
  const long = `${stem}${"é".repeat(random.pick([1, 22, 28, 60]))}`;
  return random.pick([long, `"${long}"`, `"${stem}É"`]);
}

async function createEncodedDatabase(beside: TestDatabase, encoding: string): Promise<TestDatabase> {
  const name = `${beside.name}_encoded`;
  const [[version] = []] = await beside.query("SHOW server_version_num");
  const provider = Number(version) >= 150_000 ? "LOCALE_PROVIDER libc " : "";
  await beside.query(
    `CREATE DATABASE ${name} TEMPLATE template0 ENCODING '${encoding}' ${provider}LOCALE 'C'`,
  );
  const url = new URL(beside.url);
  url.pathname = `/${name}`;
  return {
    name,
    url: url.href,
    query: (sql) => runSql(url.href, sql),
    [Symbol.asyncDispose]: async () => void await beside.query(`DROP DATABASE ${name} WITH (FORCE)`),
  };
}
