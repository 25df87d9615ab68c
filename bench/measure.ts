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

/** CPU time that a process has taken on all of its threads, in milliseconds, as Linux counts it. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await Deno.readTextFile(`/proc/${pid}/stat`);
  // the name of the program, in brackets, may hold blanks
  const [userTicks = 0, systemTicks = 0] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(
    Number,
  );
  return (userTicks + systemTicks) * msPerTick;
}

// USER_HZ, which is 100 on every Linux of today
const msPerTick = 10;
