import { AppError } from "../core/app_error.ts";

/**
 * A text as a literal of SQL, whatever the server's `standard_conforming_strings`.
 *
 * @throws {AppError} `invalid` for a text with a NUL, which PostgreSQL has no place for
 */
export function quoteLiteral(text: string): string {
  if (text.includes("\0")) throw new AppError("invalid", "Cannot quote text: it holds a NUL character");
  const quoted = text.replaceAll("'", "''");
  return quoted.includes("\\") ? `E'${quoted.replaceAll("\\", "\\\\")}'` : `'${quoted}'`;
}
