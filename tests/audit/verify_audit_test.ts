import assert from "node:assert/strict";
import { waitUntil } from "../support/wait_until.ts";
import fc from "fast-check";
import { type ChainEnd, chainStart, linkLine } from "../../src/audit/line_chain.ts";
import { createAuditTrail } from "../../src/audit/audit_trail.ts";
import { verifyAudit } from "../../src/audit/verify_audit.ts";
import { silentLogger } from "../../src/core/logger.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

/** A trail of eight lines, and the same lines without their head in `copy`. */
async function trailOfEight(folder: string): Promise<{ file: string; copy: string; lines: string[] }> {
  const [file, copy] = [`${folder}/audit.jsonl`, `${folder}/copy.jsonl`];
  await using trail = await createAuditTrail({ file, now: () => 0, logger: silentLogger });
  for (let i = 0; i < 8; i++) trail.record({ event: "tool_call", outcome: "ok", rows: i });
  await trail.flush();
  const lines = (await Deno.readTextFile(file)).split("\n").slice(0, -1);
  assert.equal(lines.length, 8);
  return { file, copy, lines };
}

const asFile = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
const lineNumber = fc.integer({ min: 1, max: 8 });

function endOf(line: string): ChainEnd {
  const { sequence, previous, seal: _, ...members } = JSON.parse(line);
  const after = { sequence: sequence - 1, hash: previous };
  return linkLine(members, after).end;
}

Deno.test("property: the line in which any one byte was changed is named, with the head and without", async () => {
  await using folder = await temporaryFolder();
  const { file, copy, lines } = await trailOfEight(folder.path);
  const whole = new TextEncoder().encode(asFile(lines));
  await fc.assert(
    fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
      const changed = whole.slice();
      changed[at] = (changed[at] ?? 0) ^ flip;
      const line = asFile(lines).slice(0, at).split("\n").length;
      for (const path of [file, copy]) {
        await Deno.writeFile(path, changed);
        const result = await verifyAudit(path);
        assert.equal(result.ok ? "found nothing" : result.line, line);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("property: where lines were removed is named; at the very end, with the head", async () => {
  await using folder = await temporaryFolder();
  const { file, copy, lines } = await trailOfEight(folder.path);
  await fc.assert(
    fc.asyncProperty(lineNumber, fc.integer({ min: 1, max: 8 }), async (first, count) => {
      const left = lines.toSpliced(first - 1, count);
      await Deno.writeTextFile(file, asFile(left));
      const result = await verifyAudit(file);
      assert.equal(result.ok ? "found nothing" : result.line, first);
      await Deno.writeTextFile(copy, asFile(left));
      const ofCopy = await verifyAudit(copy);
      if (left.length < first) assert.deepEqual([ofCopy.ok, ofCopy.ok && ofCopy.endChecked], [true, false]);
      else assert.equal(ofCopy.ok ? "found nothing" : ofCopy.line, first);
    }),
    { numRuns: 60 },
  );
});

Deno.test("property: the first of the lines that were inserted is named", async () => {
  await using folder = await temporaryFolder();
  const { copy, lines } = await trailOfEight(folder.path);
  const forged = (place: number, count: number) => {
    let end = place === 1 ? chainStart : endOf(lines[place - 2] ?? "");
    return Array.from({ length: count }, (_, i) => {
      const linked = linkLine({ event: "login", rows: 100 + i }, end);
      end = linked.end;
      return linked.line;
    });
  };
  await fc.assert(
    fc.asyncProperty(
      lineNumber,
      fc.oneof(
        fc.integer({ min: 1, max: 4 }).map((count) => (place: number) => forged(place, count)),
        lineNumber.map((number) => () => [lines[number - 1] ?? ""]),
        fc.constantFrom("", "{}", "garbage", '{"sequence":3}').map((text) => () => [text]),
      ),
      async (place, make) => {
        const inserted = make(place);
        // a copy of a line before itself is the copy after itself
        const isTwin = inserted.length === 1 && inserted[0] === lines[place - 1];
        await Deno.writeTextFile(copy, asFile(lines.toSpliced(place - 1, 0, ...inserted)));
        const result = await verifyAudit(copy);
        assert.equal(result.ok ? "found nothing" : result.line, isTwin ? place + 1 : place);
      },
    ),
    { numRuns: 200 },
  );
});

Deno.test("a line that was changed and sealed anew is named by the line after it, and the last by the head", async () => {
  await using folder = await temporaryFolder();
  const { file, lines } = await trailOfEight(folder.path);
  for (const number of [1, 2, 7, 8]) {
    const { sequence, previous } = JSON.parse(lines[number - 1] ?? "");
    const { line } = linkLine({ event: "login", rows: 999 }, { sequence: sequence - 1, hash: previous });
    await Deno.writeTextFile(file, asFile(lines.with(number - 1, line)));
    const result = await verifyAudit(file);
    assert.equal(result.ok ? "found nothing" : result.line, number);
  }
});

Deno.test("lines that changed places, and a trail that was written anew from some line on, are found out", async () => {
  await using folder = await temporaryFolder();
  const { file, lines } = await trailOfEight(folder.path);
  const [third = "", fourth = ""] = lines.slice(2);
  await Deno.writeTextFile(file, asFile(lines.with(2, fourth).with(3, third)));
  assert.deepEqual(await verifyAudit(file), {
    ok: false,
    line: 3,
    reason: "lines before it are missing (1), or it was inserted",
  });
  let end = endOf(third);
  const anew = Array.from({ length: 5 }, (_, i) => {
    const linked = linkLine({ event: "login", rows: i }, end);
    end = linked.end;
    return linked.line;
  });
  await Deno.writeTextFile(file, asFile([...lines.slice(0, 3), ...anew]));
  assert.deepEqual(await verifyAudit(file), {
    ok: false,
    line: 8,
    reason: "it or an earlier line was rewritten",
  });
});

Deno.test("a line without an end, and a file that is one line without end, are named", async () => {
  await using folder = await temporaryFolder();
  const { copy, lines } = await trailOfEight(folder.path);
  await Deno.writeTextFile(copy, asFile(lines).slice(0, -1));
  const torn = { ok: false, line: 8, reason: "it is cut off, as after a crash" };
  assert.deepEqual(await verifyAudit(copy), torn);
  await Deno.writeTextFile(copy, asFile(lines) + "x".repeat(3_000_000) + "\n");
  assert.deepEqual(await verifyAudit(copy), { ...torn, line: 9 });
});

Deno.test("a forged recovery does not cover a line that was changed", async () => {
  await using folder = await temporaryFolder();
  const { copy, lines } = await trailOfEight(folder.path);
  const { line } = linkLine({ event: "recovery", unreadable: "0".repeat(64) }, endOf(lines[2] ?? ""));
  await Deno.writeTextFile(copy, asFile([...lines.slice(0, 3), "changed", line, ...lines.slice(4)]));
  assert.deepEqual(await verifyAudit(copy), { ok: false, line: 4, reason: "it was changed" });
});

Deno.test("a long trail is read in pieces", async () => {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/audit.jsonl`;
  await using trail = await createAuditTrail({ file, now: () => 0, logger: silentLogger });
  for (let i = 0; i < 9000; i++) trail.record({ event: "tool_call", outcome: "ok", tool: "x".repeat(400) });
  await trail.flush();
  const result = await verifyAudit(file);
  assert.deepEqual([result.ok, result.ok && result.lines], [true, 9000]);
  assert.ok((await Deno.stat(file)).size > 3 * 1_048_576);
});

Deno.test("a missing file is said", async () => {
  await assert.rejects(verifyAudit("/none/audit.jsonl"), {
    code: "not_found",
    message: "Cannot read /none/audit.jsonl: it does not exist",
  });
});

Deno.test("pipes in the place of a trail or its head are not opened", async () => {
  const folder = await Deno.makeTempDir();
  await new Deno.Command("mkfifo", { args: [`${folder}/pipe`, `${folder}/trail.head`] }).output();
  await Deno.writeTextFile(`${folder}/trail`, "");
  for (const name of ["pipe", "trail"]) {
    let refusal: unknown;
    void verifyAudit(`${folder}/${name}`).catch((error) => refusal = error);
    await waitUntil("it is refused", () => refusal !== undefined);
    assert.match(String(refusal), /it is not a regular file/);
  }
  await Deno.remove(folder, { recursive: true });
});
