import assert from "node:assert/strict";
import { runProgram } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const check = (...args: string[]) => runProgram(["-check-statement", ...args]);

Deno.test("-check-statement says without a database what may run, and why not, by its exit code too", async () => {
  const certain = await check("SELECT 1");
  assert.deepEqual([certain.code, certain.stdout], [0, "may run\n"]);
  const refused = await check("DELETE FROM orders");
  assert.equal(refused.code, 1);
  assert.match(refused.stdout, /^refused \(reads_only\): DELETE is not a read; /);
  const decided = await check("SELECT shop.total(o) FROM shop.orders o");
  assert.equal(decided.code, 3);
  assert.match(decided.stdout, /^may run, unless its database says otherwise:$/m);
  assert.match(decided.stdout, /^ {2}relation shop.orders: whether it is a view, .* role may read it$/m);
  assert.match(decided.stdout, /^ {2}function shop.total: whether it is VOLATILE$/m);
});

Deno.test("-check-statement reads a file", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/report.sql`;
  await Deno.writeTextFile(file, "SELECT\n  pg_read_file('x')");
  const { code, stdout } = await check(`@${file}`, "-json");
  assert.equal(code, 1);
  const { reason, ...result } = JSON.parse(stdout);
  assert.deepEqual(result, { result: "refused", rule: "refused_functions", position: 10 });
  assert.match(reason, /^pg_read_file\(\) is not allowed: /);
  const missing = await check(`@${folder.path}/none.sql`);
  assert.equal(missing.code, 2);
  assert.match(missing.stderr, /none\.sql/);
});
