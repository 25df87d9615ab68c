import { AppError } from "../core/app_error.ts";
import { type Fault as DocumentFault, faultText as textOf } from "../core/yaml/file_fault.ts";
import type { SettingPath } from "../core/yaml/value_tree.ts";

/** One thing wrong with the configuration, and where it was written. */
export interface Fault extends DocumentFault {
  /** The environment variable or the flag (`-addr`) that the value came from, in place of the file. */
  readonly variable?: string;
  readonly flag?: string;
}

/** Carries every fault that was found, so that one start tells all there is to correct. */
export class ConfigError extends AppError {
  /** @param warnings what was found besides, one line each */
  constructor(
    readonly faults: readonly Fault[],
    readonly path: string | undefined,
    readonly warnings: readonly string[] = [],
  ) {
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
  return textOf(fault, fault.flag ?? fault.variable);
}

/** Takes what a rule finds wrong with a setting. */
export type Report = (path: SettingPath, message: string) => void;
