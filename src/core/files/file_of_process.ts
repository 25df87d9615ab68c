/** How many processes may serve the same ports. */
export const mostProcesses = 64;

/**
 * A file of the same kind for each of several processes: the first has `path` itself, others one beside it, as in
 * `audit-2.jsonl`. With a dot it could be a name that a rotation gives.
 */
export function fileOfProcess(path: string, number: number): string {
  return number === 1 ? path : path.replace(/(\.[^./]*)?$/, `-${number}$1`);
}

/** What `fileOfProcess` was given: the first process's path, and the number. A path without a number is the first's. */
export function processOfFile(path: string): { first: string; number: number } {
  const [, stem = "", digits = "", extension = ""] = /^(.*)-(\d{1,2})(\.[^./]*)?$/.exec(path) ?? [];
  const number = Number(digits);
  return number > 1 && number <= mostProcesses
    ? { first: stem + extension, number }
    : { first: path, number: 1 };
}
