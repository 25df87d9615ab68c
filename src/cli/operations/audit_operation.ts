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
  { files: given, json }: { readonly files: readonly string[]; readonly json: boolean },
  print: Print,
): Promise<number> {
  // `audit*` names the ends of the chains too
  const ends = new Set(given.map(headPathOf));
  const files = given.filter((file) => !ends.has(file));
  const trails = await Array.fromAsync(files, resultOf);
  const missing = await missingTrails(files);
  const faults = [
    ...trails.flatMap(({ fault }) => fault === undefined ? [] : [`Cannot vouch for ${fault}`]),
    ...missing.map(({ file, why }) => `Cannot vouch for all processes: ${file} ${why}`),
  ];
  if (json) {
    const results = trails.map(({ asJson }, at) => ({ file: files[at], ...asJson }));
    print(jsonText(
      files.length + missing.length === 1 ? trails[0]?.asJson : {
        files: results,
        missing: missing.map(({ file }) => file),
      },
    ));
  } else {
    for (const { text } of trails) if (text !== undefined) print(text);
    if (faults.length > 0) throw new AppError("conflict", faults.join("\n"));
  }
  if (faults.length > 0) return 1;
  return trails.every(({ asJson }) => asJson.result === "whole") ? 0 : 3;
}

async function resultOf(
  file: string,
): Promise<{ asJson: { result: string }; text?: string; fault?: string }> {
  const verified = await verifyAudit(file);
  if (!verified.ok) {
    const { line, reason } = verified;
    const asJson = { result: "broken", line, reason };
    return { asJson, fault: `${file}: line ${line}: ${reason}` };
  }
  const { lines, endChecked } = verified;
  const asJson = { result: endChecked ? "whole" : "end_unknown", lines };
  if (endChecked) return { asJson, text: `${visible(file)} is whole: ${counted(lines, "line")}` };
  const text =
    `${visible(file)}: ${counted(lines, "line")}, each of which follows from the one before; without ` +
    `${visible(headPathOf(file))} nobody can tell whether lines are missing at the end`;
  return { asJson, text };
}

/** Trails of several processes that belong to some that were given: those with lower numbers, and those beside them. */
async function missingTrails(files: readonly string[]): Promise<{ file: string; why: string }[]> {
  const last = new Map<string, number>();
  for (const { first, number } of files.map(processOfFile)) {
    last.set(first, Math.max(number, last.get(first) ?? 1));
  }
  const isThere = (path: string) => Deno.stat(path).then(() => true, () => false);
  const missing: { file: string; why: string }[] = [];
  for (const [first, highest] of last) {
    for (let number = 1; number <= mostProcesses; number++) {
      const file = fileOfProcess(first, number);
      if (files.includes(file)) continue;
      // a single one may have been taken elsewhere
      const isMeant = files.length > 1 && number < highest;
      if (await isThere(file)) missing.push({ file, why: "was not given" });
      else if (isMeant || await isThere(headPathOf(file))) missing.push({ file, why: "is missing" });
    }
  }
  return missing;
}
