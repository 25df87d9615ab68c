import assert from "node:assert/strict";
import { pg } from "../../../../src/postgres/connection.ts";
import { closureQuery } from "../../../../src/postgres/guard/hidden_calls.ts";
import { sha256 } from "../../../../src/core/text/sha256.ts";
import { createFunctionGuard, type LookUp } from "../../../../src/postgres/guard/function_guard.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { createFuzzSchema } from "./generated_schema.ts";
import { createStatementWriter } from "./generated_statements.ts";
import { createRandom } from "./generated_types.ts";

const firstSeed = 411_001;
const seeds = Array.from({ length: 14 }, (_, at) => firstSeed + at);
/** Of the first schemas; of all of them it is known what they may not touch. */
const seedsWithStatements = 4;
const statementsOfMarker = 25;

/**
 * By seed, of each marker: the decisions over its statements, a letter each (`r` refused, `-` may run), and a digest of what
 * statements may not touch where it is VOLATILE.
 */
type Decisions = Record<string, string[]>;

/**
 * Each condition of the guard's queries decides over some statements. That all of them decide rightly is what the fuzzer
 * looks for, an hour at a time, by running what they let through; this test only says that none of them has changed since
 * an hour found nothing. After a change that an hour of `deno task fuzz:guard` has found nothing wrong with, on PostgreSQL
 * 15 and 18: `UPDATE_DECISIONS=1 deno task test tests/postgres/guard/fuzz/recorded_decisions_test.ts`, for both.
 */
testWithPostgres(
  "the guard decides of generated statements as when an hour of them found no way",
  async () => {
    const decisions: Decisions = {};
    const statements = new Map<string, string>();
    let version = 0;
    for (const seed of seeds) {
      const found = await decideAll(seed);
      version = found.version;
      decisions[seed] = found.decisions;
      for (const [at, sql] of found.statements) statements.set(`${seed} ${at}`, sql);
    }
    const file = new URL(`recorded_decisions_${version}.json`, import.meta.url);
    if (Deno.env.get("UPDATE_DECISIONS") === "1") {
      return await Deno.writeTextFile(file, `${JSON.stringify(decisions, undefined, 2)}\n`);
    }
    const recorded = await Deno.readTextFile(file).then(
      (text): Decisions => JSON.parse(text),
      () => undefined,
    );
    // the schemas and statements differ by version
    if (recorded === undefined) return;
    const changed = Object.entries(decisions).flatMap(([seed, markers]) =>
      markers.flatMap((now, marker) =>
        [...now].flatMap((decision, at) =>
          recorded[seed]?.[marker]?.[at] === decision ? [] : [
            `${decision === "r" ? "refused now" : "runs now"}: ${statements.get(`${seed} ${marker} ${at}`)}`,
          ]
        )
      )
    );
    assert.deepEqual(changed.slice(0, 5), [], `${changed.length} decisions have changed`);
  },
);

/** OIDs differ from run to run. */
const namesSql = `SELECT 'type ' || oid, format_type(oid, NULL) FROM pg_type
  UNION ALL SELECT 'modifier ' || oid, format_type(oid, NULL) FROM pg_type
  UNION ALL SELECT 'operator ' || oid, oid::regoperator::text FROM pg_operator
  UNION ALL SELECT 'relation ' || oid, oid::regclass::text FROM pg_class`;

async function decideAll(seed: number) {
  await using database = await createTestDatabase();
  // as in every transaction of a caller
  const client = new pg.Client({ connectionString: database.url, options: "-c jit=off" });
  client.on("error", () => {});
  await client.connect();
  try {
    const random = createRandom(seed);
    const schema = await createFuzzSchema(client, random, (stem) => stem);
    const grammar = await createStatementGuard();
    const query = async (text: string, values: readonly string[] = []) =>
      (await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array" })).rows;
    const names = new Map((await query(namesSql)).map(([key, name]) => [key, name]));
    let closure = "";
    const lookUp: LookUp = async (text, values) => {
      const rows = await query(text, values);
      if (text === closureQuery) {
        // by which way PostgreSQL comes to each first is up to its plan
        const lines = rows.map(([type, oid, way, isCalled]) =>
          [type, names.get(`${type === "sort" ? "operator" : type} ${oid}`), way, isCalled].join("|")
        );
        closure = sha256([...new Set(lines)].toSorted().join("\n")).slice(0, 8);
      }
      return rows;
    };
    const decisions: string[] = [];
    const statements = new Map<string, string>();
    for (const [marker, danger] of schema.markers.entries()) {
      await client.query(`ALTER FUNCTION ${danger.signature} VOLATILE`);
      const guard = createFunctionGuard({ allowedFunctions: [], now: () => 0 });
      const writer = createStatementWriter(schema, createRandom(seed + marker), [danger]);
      let letters = "";
      const count = seed < firstSeed + seedsWithStatements ? statementsOfMarker : 1;
      for (let at = 0; at < count; at++) {
        const sql = at % 5 === 4 ? writer.honest() ?? writer.statement().sql : writer.statement().sql;
        const read = grammar.check(sql);
        const isRefused = !read.ok || await guard.check(read.names, "local", lookUp) !== undefined;
        letters += isRefused ? "r" : "-";
        statements.set(`${marker} ${at}`, sql);
      }
      decisions.push(`${letters} ${closure}`);
      await client.query(`ALTER FUNCTION ${danger.signature} IMMUTABLE`);
    }
    return { version: Math.floor(schema.version), decisions, statements };
  } finally {
    await client.end();
  }
}
