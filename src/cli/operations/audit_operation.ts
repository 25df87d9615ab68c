import { headPathOf } from "../../audit/line_chain.ts";
import { verifyAudit } from "../../audit/verify_audit.ts";
import { AppError } from "../../core/app_error.ts";
import { fileOfProcess, mostProcesses, processOfFile } from "../../core/files/file_of_process.ts";
import { counted, jsonText, type Print, visible } from "../output.ts";

/**
 * Says whether audit trails are as they were written, and of those of several processes which were not given.
 *
 * @returns the program's exit code: 0 for trails that are whole, 3 where nobody can tell whether lines are missing at the end
 * of one; with `json`, 1 where a line is not as it was written or a trail is missing
 * @throws AppError as verifyAudit; `conflict`, naming the first line that is not as it was written, without `json`
 */
export async function verifyAuditFiles(
  { files, json }: { readonly files: readonly string[]; readonly json: boolean },
  print: Print,
): Promise<number> {
  const results = await Array.fromAsync(files, resultOf);
  const missing = files.length === 1 ? [] : await missingTrails(files);
  const faults = [
    ...results.flatMap(({ fault }) => fault ?? []),
    ...missing.map((file) => `Cannot vouch for all processes: ${file} is missing`),
  ];
  if (json) {
    const each = results.map(({ asJson }, at) => ({ file: files[at], ...asJson }));
    print(jsonText(files.length === 1 ? results[0]?.asJson : { files: each, missing }));
  } else {
    for (const { text } of results) if (text !== undefined) print(text);
    if (faults.length > 0) throw new AppError("conflict", faults.join("\n"));
  }
  return faults.length > 0 ? 1 : results.some(({ isEndUnknown }) => isEndUnknown) ? 3 : 0;
}

interface TrailResult {
  readonly asJson: object;
  readonly isEndUnknown?: boolean;
  /** For people; absent where there is a fault. */
  readonly text?: string;
  readonly fault?: string;
}

async function resultOf(file: string): Promise<TrailResult> {
  const verified = await verifyAudit(file);
  if (!verified.ok) {
    const { line, reason } = verified;
    return {
      asJson: { result: "broken", line, reason },
      fault: `Cannot vouch for ${file}: line ${line}: ${reason}`,
    };
  }
  const { lines, endChecked } = verified;
  return endChecked
    ? { asJson: { result: "whole", lines }, text: `${visible(file)} is whole: ${counted(lines, "line")}` }
    : {
      asJson: { result: "end_unknown", lines },
      isEndUnknown: true,
      text:
        `${visible(file)}: ${counted(lines, "line")}, each of which follows from the one before; without ` +
        `${visible(headPathOf(file))} nobody can tell whether lines are missing at the end`,
    };
}

/** Trails of several processes that belong to some that were given: those with lower numbers, and those beside them. */
async function missingTrails(files: readonly string[]): Promise<string[]> {
  const given = new Map<string, Set<number>>();
  for (const file of files) {
    const { first, number } = processOfFile(file);
    given.set(first, (given.get(first) ?? new Set()).add(number));
  }
  const missing: string[] = [];
  for (const [first, numbers] of given) {
    for (let number = 1; number <= mostProcesses; number++) {
      const file = fileOfProcess(first, number);
      if (numbers.has(number)) continue;
      if (number < Math.max(...numbers) || await isThere(file) || await isThere(headPathOf(file))) {
        missing.push(file);
      }
    }
  }
  return missing;
}

function isThere(path: string): Promise<boolean> {
  return Deno.stat(path).then(() => true, () => false);
}
