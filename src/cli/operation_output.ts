import { formatTimestamp } from "../identity/credentials/timestamp.ts";
import { openFileWarning } from "../core/files/private_file.ts";

/** Takes a line of what was asked for, without its line end: standard output. */
export type Print = (line: string) => void;

export interface OperationOptions {
  /** Takes a line that the administrator should know besides: standard error. */
  readonly warn?: Print;
  readonly now?: () => number;
}

export async function warnOfAccess(path: string, options: OperationOptions): Promise<void> {
  const warning = await openFileWarning(path);
  if (warning !== undefined) options.warn?.(warning);
}

export function nowOf(options: OperationOptions): number {
  return (options.now ?? Date.now)();
}

export function jsonText(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

export function jsonTime(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}

/** A point in time for people, to the minute. */
export function plainTime(ms: number): string {
  return formatTimestamp(ms).replace("T", " ").replace(/:\d\dZ$/, " UTC");
}
