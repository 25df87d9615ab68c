import assert from "node:assert/strict";
import { createAuditTrail } from "../../../src/audit/audit_trail.ts";
import { silentLogger } from "../../../src/core/logger.ts";
import { runProgram } from "../../support/server_process.ts";
import { temporaryFolder } from "../../support/temporary_folder.ts";

async function trailOfThree(folder: string, name = "audit.jsonl"): Promise<string> {
  const file = `${folder}/${name}`;
  await using trail = await createAuditTrail({ file, now: () => 0, logger: silentLogger });
  for (const rows of [1, 2, 3]) trail.record({ event: "tool_call", outcome: "ok", rows });
  return file;
}

/** What `-verify-audit` answers as text and as JSON; both must exit with the same code. */
async function verify(...files: string[]) {
  const [text, json] = await Promise.all([
    runProgram(["-verify-audit", ...files]),
    runProgram(["-verify-audit", ...files, "-json"]),
  ]);
  assert.equal(text.code, json.code);
  assert.equal(json.stderr, "");
  return { code: text.code, text: text.stdout + text.stderr, json: JSON.parse(json.stdout) };
}

Deno.test("-verify-audit calls a trail whole only where its head says where it ends", async () => {
  await using folder = await temporaryFolder();
  const file = await trailOfThree(folder.path);
  assert.deepEqual(await verify(file), {
    code: 0,
    text: `${file} is whole: 3 lines\n`,
    json: { result: "whole", lines: 3 },
  });
  const lines = (await Deno.readTextFile(file)).split("\n").slice(0, 2);
  await Deno.writeTextFile(file, `${lines.join("\n")}\n`);
  const missing = "lines are missing at the end (1)";
  assert.deepEqual((await verify(file)).json, { result: "broken", line: 3, reason: missing });
  await Deno.remove(`${file}.head`);
  assert.deepEqual(await verify(file), {
    code: 3,
    text:
      `${file}: 2 lines, each of which follows from the one before; without ${file}.head nobody can tell ` +
      "whether lines are missing at the end\n",
    json: { result: "end_unknown", lines: 2 },
  });
});

Deno.test("-verify-audit names the first line that was changed, and exits with 1", async () => {
  await using folder = await temporaryFolder();
  const file = await trailOfThree(folder.path);
  await Deno.writeTextFile(file, (await Deno.readTextFile(file)).replace('"rows":2', '"rows":9'));
  const { code, text, json } = await verify(file);
  assert.equal(code, 1);
  assert.match(text, /: Cannot vouch for .*: line 2: it was changed\n$/);
  assert.deepEqual(json, { result: "broken", line: 2, reason: "it was changed" });
});

Deno.test("-verify-audit verifies the trails of several processes, and names those that were not given", async () => {
  await using folder = await temporaryFolder();
  const [first, second, third, fourth] = await Promise.all(
    ["audit.jsonl", "audit-2.jsonl", "audit-3.jsonl", "audit-4.jsonl"].map((name) =>
      trailOfThree(folder.path, name)
    ),
  ) as [string, string, string, string];
  const whole = { result: "whole", lines: 3 };
  const all = [first, second, third, fourth];
  assert.deepEqual(await verify(...all), {
    code: 0,
    text: all.map((file) => `${file} is whole: 3 lines\n`).join(""),
    json: { files: all.map((file) => ({ file, ...whole })), missing: [] },
  });
  // one below those that were given need not be there to be missing, nor need all of one above
  await Deno.remove(second);
  await Deno.remove(`${second}.head`);
  await Deno.remove(fourth);
  const { code, text, json } = await verify(first, third);
  assert.equal(code, 1);
  assert.deepEqual(json.missing, [second, fourth]);
  assert.equal(
    text,
    `${first} is whole: 3 lines\n${third} is whole: 3 lines\n` +
      `postern: Cannot vouch for all processes: ${second} is missing\n` +
      `Cannot vouch for all processes: ${fourth} is missing\n`,
  );
  // one alone leads to those beside it
  const alone = await verify(third);
  assert.deepEqual([alone.code, alone.json.missing], [1, [first, fourth]]);
  assert.match(alone.text, /Cannot vouch for all processes: .*audit\.jsonl was not given/);
  // `audit*` names what belongs to them too
  await Deno.remove(`${fourth}.head`);
  const glob = await verify(first, `${first}.head`, third, `${third}.head`);
  assert.deepEqual(glob.json.missing, [second]);
  assert.deepEqual(glob.json.files.map(({ file }: { file: string }) => file), [first, third]);
  await Deno.remove(first);
  await Deno.remove(`${first}.head`);
  assert.deepEqual((await verify(third)).json, whole);
});

Deno.test("-verify-audit looks at all files that it was given, whatever is wrong with the first", async () => {
  await using folder = await temporaryFolder();
  const files = await Promise.all(
    ["audit.jsonl", "audit-2.jsonl"].map((name) => trailOfThree(folder.path, name)),
  );
  const [broken = "", unsure = ""] = files;
  await Deno.writeTextFile(broken, (await Deno.readTextFile(broken)).replace('"rows":2', '"rows":9'));
  await Deno.remove(`${unsure}.head`);
  const { code, json } = await verify(broken, unsure);
  assert.equal(code, 1);
  assert.deepEqual(json, {
    files: [
      { file: broken, result: "broken", line: 2, reason: "it was changed" },
      { file: unsure, result: "end_unknown", lines: 3 },
    ],
    missing: [],
  });
});
