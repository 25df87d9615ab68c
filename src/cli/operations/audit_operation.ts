import { headPathOf } from "../../audit/line_chain.ts";
import { verifyAudit } from "../../audit/verify_audit.ts";
import { AppError } from "../../core/app_error.ts";
import { counted, jsonText, type Print, visible } from "../output.ts";

/**
 * Says whether an audit trail is as it was written.
 *
 * @returns the program's exit code: 0 for a trail that is whole, 3 where nobody can tell whether lines are missing at its
 * end; with `json`, 1 where a line is not as it was written
 * @throws AppError as verifyAudit; `conflict`, naming the first line that is not as it was written, without `json`
 */
export async function verifyAuditFile(
  { file, json }: { readonly file: string; readonly json: boolean },
  print: Print,
): Promise<number> {
  const verified = await verifyAudit(file);
  if (!verified.ok) {
    const { line, reason } = verified;
    if (!json) throw new AppError("conflict", `Cannot vouch for ${file}: line ${line}: ${reason}`);
    print(jsonText({ result: "broken", line, reason }));
    return 1;
  }
  const { lines, endChecked } = verified;
  if (json) print(jsonText({ result: endChecked ? "whole" : "end_unknown", lines }));
  else if (endChecked) print(`${visible(file)} is whole: ${counted(lines, "line")}`);
  else {
    print(
      `${visible(file)}: ${counted(lines, "line")}, each of which follows from the one before; without ` +
        `${visible(headPathOf(file))} nobody can tell whether lines are missing at the end`,
    );
  }
  return endChecked ? 0 : 3;
}
