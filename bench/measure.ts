/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** What a process holds in memory, in bytes, as Linux counts it. */
export async function residentBytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
}

/** One line of the report. */
export function print(what: string, figure: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${what.padEnd(56)} ${figure}\n`));
}
