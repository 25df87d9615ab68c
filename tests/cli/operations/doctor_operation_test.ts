import assert from "node:assert/strict";
import { printDiagnoses } from "../../../src/cli/operations/doctor_operation.ts";
import type { Diagnosis } from "../../../src/app/checks/all_checks.ts";

const diagnoses: Diagnosis[] = [
  {
    kind: "pipeline",
    name: "handbook",
    results: [
      { check: "database", ok: true, note: "PostgreSQL 15.20 answers at ::1:5432" },
      { check: "role", ok: true },
      {
        check: "statistics of docs",
        ok: false,
        severity: "warning",
        message: "docs was never analyzed",
        remedy: "ANALYZE docs;",
      },
      {
        check: "table b\u001b[2J",
        ok: false,
        severity: "error",
        message: "There is no table or view",
        remedy: "-- Make it:\nCREATE TABLE b (\n  id int\n);",
      },
    ],
  },
  { kind: "database", name: "shop", results: [{ check: "database", ok: true }] },
];

function printed(given: readonly Diagnosis[], changes: { json?: boolean; plain?: boolean } = {}) {
  const lines: string[] = [];
  const code = printDiagnoses(given, { json: false, plain: true, ...changes }, (line) => lines.push(line));
  return { lines, code };
}

Deno.test("-doctor prints results by pipeline, each with its remedy below, and exits 1 for an error", () => {
  const { lines, code } = printed(diagnoses);
  assert.equal(code, 1);
  assert.deepEqual(lines, [
    "pipeline handbook",
    "  ok      database: PostgreSQL 15.20 answers at ::1:5432",
    "  ok      role",
    "  WARNING statistics of docs: docs was never analyzed",
    "      ANALYZE docs;",
    "  ERROR   table b\\u001b[2J: There is no table or view",
    "      -- Make it:",
    "      CREATE TABLE b (",
    "        id int",
    "      );",
    "",
    "database shop",
    "  ok      database",
    "",
    "1 error, 1 warning",
  ]);
});

Deno.test("-doctor on a terminal has signs in colour", () => {
  const { lines } = printed(diagnoses, { plain: false });
  assert.equal(lines[2], "  \u001b[32m✓\u001b[0m role");
  assert.ok(lines[3]?.startsWith("  \u001b[33m!\u001b[0m statistics"));
  assert.ok(lines[5]?.startsWith("  \u001b[31m✗\u001b[0m table"));
});

Deno.test("-doctor exits 0 where there are only warnings", () => {
  const [first] = diagnoses;
  const results = first?.results.filter((result) => result.ok || result.severity === "warning") ?? [];
  const { lines, code } = printed([{ kind: "pipeline", name: "handbook", results }]);
  assert.deepEqual([code, lines.at(-1)], [0, "no errors, 1 warning"]);
  assert.equal(printed([]).code, 0);
});

Deno.test("-doctor -json prints one object", () => {
  const { lines, code } = printed(diagnoses.slice(1), { json: true });
  assert.equal(code, 0);
  assert.deepEqual(JSON.parse(lines.join("\n")), {
    errors: 0,
    warnings: 0,
    diagnoses: [{ kind: "database", name: "shop", checks: [{ check: "database", ok: true }] }],
  });
  const failing = printed(diagnoses, { json: true });
  assert.equal(failing.code, 1);
  assert.deepEqual(JSON.parse(failing.lines.join("\n")).diagnoses[0].checks[2], {
    check: "statistics of docs",
    ok: false,
    severity: "warning",
    finding: "docs was never analyzed",
    remedy: "ANALYZE docs;",
  });
});
