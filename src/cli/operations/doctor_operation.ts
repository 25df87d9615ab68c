import { counted, jsonText, type Print, visible } from "../output.ts";
import type { NamedResult } from "../../app/checks/check.ts";
import type { Diagnosis } from "../../app/checks/all_checks.ts";

/**
 * Prints what the doctor found.
 *
 * @returns the program's exit code: 1 where there is an error, 0 otherwise
 */
export function printDiagnoses(
  diagnoses: readonly Diagnosis[],
  { json, plain }: {
    /** Print JSON in place of text for people. */
    readonly json: boolean;
    /** Letters alone, no signs and colours: for what is no terminal, or where `NO_COLOR` is set. */
    readonly plain: boolean;
  },
  print: Print,
): number {
  const results = diagnoses.flatMap((diagnosis) => diagnosis.results);
  const errors = countOf(results, "error");
  const warnings = countOf(results, "warning");
  if (json) {
    const named = diagnoses.map(({ kind, name, results }) => ({
      kind,
      name,
      checks: results.map(resultJson),
    }));
    print(jsonText({ errors, warnings, diagnoses: named }));
  } else {
    for (const { kind, name, results } of diagnoses) {
      print(`${kind} ${visible(name)}`);
      for (const result of results) resultLines(result, plain).forEach((line) => print(line));
      print("");
    }
    print(`${counted(errors, "error")}, ${counted(warnings, "warning")}`);
  }
  return errors > 0 ? 1 : 0;
}

function resultJson(result: NamedResult) {
  if (result.ok) return result;
  const { check, ok, severity, message, remedy } = result;
  return { check, ok, severity, finding: message, remedy };
}

/** A result as a person reads it: what was found, and below it what to do. */
export function resultLines(result: NamedResult, plain: boolean): string[] {
  const mark = (plain ? words : signs)[result.ok ? "ok" : result.severity];
  const text = result.ok ? result.note : result.message;
  const line = `  ${mark} ${visible(result.check)}${text === undefined ? "" : `: ${visible(text)}`}`;
  const remedy = result.ok ? [] : result.remedy.split("\n").map((part) => `      ${visible(part)}`);
  return [line, ...remedy];
}

const words = { ok: "ok     ", warning: "WARNING", error: "ERROR  " } as const;
const signs = {
  ok: "\u001b[32m✓\u001b[0m",
  warning: "\u001b[33m!\u001b[0m",
  error: "\u001b[31m✗\u001b[0m",
} as const;

function countOf(results: readonly NamedResult[], severity: "error" | "warning"): number {
  return results.filter((result) => !result.ok && result.severity === severity).length;
}
