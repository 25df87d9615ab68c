import { verifyAudit } from "../audit/verify_audit.ts";
import { AppError } from "../core/app_error.ts";

/** Says that an audit trail is whole. @throws {AppError} `conflict` naming the first line that is not as it was written */
export async function verifyAuditFile(file: string, print: (line: string) => void): Promise<void> {
  const verdict = await verifyAudit(file);
  if (!verdict.ok) {
    throw new AppError("conflict", `Cannot vouch for ${file}: line ${verdict.line}: ${verdict.reason}`);
  }
  print(`${file} is whole: ${verdict.lines} lines`);
}
