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
  const place = fault.flag ?? fault.variable ??
    (fault.line === undefined ? undefined : `line ${fault.line}, column ${fault.column ?? 1}`);
  const hint = fault.suggestion === undefined ? "" : `; did you mean "${fault.suggestion}"?`;
  return [place, fault.path || undefined, fault.message + hint].filter((part) => part !== undefined).join(
    ": ",
  );
}

/**
 * The candidate that a mistyped name most likely stands for: the one with the fewest edits (letters added, left out,
 * changed, or swapped with their neighbour), at most a third of the name's length and never fewer than one.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestEdits = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < bestEdits) [best, bestEdits] = [candidate, edits];
  }
  return best;
}

/** Optimal string alignment distance: Levenshtein's, with a swap of two neighbours counted as one edit. */
export function editDistance(left: string, right: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1];
      let edits = Math.min(
        at(previous, column) + 1,
        at(current, column - 1) + 1,
        at(previous, column - 1) + (same ? 0 : 1),
      );
      const swapped = row > 1 && column > 1 && left[row - 1] === right[column - 2] &&
        left[row - 2] === right[column - 1];
      if (swapped) edits = Math.min(edits, at(beforePrevious, column - 2) + 1);
      current.push(edits);
    }
    [beforePrevious, previous] = [previous, current];
  }
  return at(previous, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}
