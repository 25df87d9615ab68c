import assert from "node:assert/strict";
import { pg } from "../../../../src/postgres/connection.ts";
import { createFunctionGuard, type LookUp } from "../../../../src/postgres/guard/function_guard.ts";
import { createStatementGuard } from "../../../../src/postgres/guard/statement_guard.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { createFuzzSchema } from "./generated_schema.ts";
import { createStatementWriter } from "./generated_statements.ts";
import { createRandom } from "./generated_types.ts";

const seeds = [411_001, 411_002, 411_003, 411_004];
const statementsOfMarker = 25;

/** By seed: of each marker's statements the decisions, a letter each: `r` refused, `-` may run. */
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
    const lookUp: LookUp = async (text, values) =>
      (await client.query<(string | null)[]>({ text, values: [...values], rowMode: "array" })).rows;
    const decisions: string[] = [];
    const statements = new Map<string, string>();
    for (const [marker, danger] of schema.markers.entries()) {
      await client.query(`ALTER FUNCTION ${danger.signature} VOLATILE`);
      const guard = createFunctionGuard({ allowedFunctions: [], now: () => 0 });
      const writer = createStatementWriter(schema, createRandom(seed + marker), [danger]);
      let letters = "";
      for (let at = 0; at < statementsOfMarker; at++) {
        const sql = at % 5 === 4 ? writer.honest() ?? writer.statement().sql : writer.statement().sql;
        const read = grammar.check(sql);
        const isRefused = !read.ok || await guard.check(read.names, "local", lookUp) !== undefined;
        letters += isRefused ? "r" : "-";
        statements.set(`${marker} ${at}`, sql);
      }
      decisions.push(letters);
      await client.query(`ALTER FUNCTION ${danger.signature} IMMUTABLE`);
    }
    return { version: Math.floor(schema.version), decisions, statements };
  } finally {
    await client.end();
  }
}
