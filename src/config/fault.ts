import { AppError } from "../core/app_error.ts";

/** One thing wrong with the configuration, and where it was written. */
export interface Fault {
  /** The setting, as `databases[1].sslmode`; empty where the file as a whole is meant. */
  readonly path: string;
  /** Place in the file, counted from 1; absent for what did not come from the file. */
  readonly line?: number;
  readonly column?: number;
  /** The environment variable or the flag (`-addr`) that the value came from, in place of the file. */
  readonly variable?: string;
  readonly flag?: string;
  /** What was expected and what was found; never a secret's value. */
  readonly message: string;
  /** The known key nearest to an unknown one. */
  readonly suggestion?: string;
}

/** Carries every fault that was found, so that one start tells all there is to correct. */
export class ConfigError extends AppError {
  constructor(readonly faults: readonly Fault[], readonly path: string | undefined) {
    super("invalid", `Cannot load ${path ?? "the configuration"}: ${summary(faults)}`, { data: { faults } });
  }
}

function summary(faults: readonly Fault[]): string {
  const [first] = faults;
  if (first !== undefined && faults.length === 1) return faultText(first);
  return `${faults.length} faults\n${faults.map((fault) => `  ${faultText(fault)}`).join("\n")}`;
}

/** One line for people: place, setting, what is wrong. */
export function faultText(fault: Fault): string {
  const place = fault.flag ?? fault.variable ??
    (fault.line === undefined ? undefined : `line ${fault.line}, column ${fault.column ?? 1}`);
  const hint = fault.suggestion === undefined ? "" : `; did you mean "${fault.suggestion}"?`;
  return [place, fault.path || undefined, fault.message + hint].filter((part) => part !== undefined).join(
    ": ",
  );
}
