/** The middle of some numbers. */
export function median(values: readonly number[]): number {
  return quantile(values.toSorted((a, b) => a - b), 0.5);
}

/** The number below which that part of some sorted numbers lies; NaN where there is none. */
export function quantile(sorted: ArrayLike<number>, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN;
}

/** What a process holds in memory, in bytes, as Linux counts it: now, and at most so far. */
export async function residentBytes(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}

/** The memory of a process and those that it started, in bytes; what several of them map counts once (PSS). */
export async function sharedOutBytes(pid: number): Promise<number> {
  const kilobytes = (await processTree(pid)).map(async (each) => {
    const rollup = await Deno.readTextFile(`/proc/${each}/smaps_rollup`);
    return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]);
  });
  return (await Promise.all(kilobytes)).reduce((sum, each) => sum + each, 0) * 1024;
}

/** CPU time that a process and those that it started have taken on all threads, in milliseconds, as Linux counts it. */
export async function cpuMs(pid: number): Promise<number> {
  const ticks = (await processTree(pid)).map(async (each) => {
    const stat = await Deno.readTextFile(`/proc/${each}/stat`);
    // the name of the program, in brackets, may hold blanks
    const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(")") + 2).split(" ").slice(11, 13).map(Number);
    return user + system;
  });
  return (await Promise.all(ticks)).reduce((sum, each) => sum + each, 0) * msPerTick;
}

// USER_HZ, which is 100 on every Linux of today
const msPerTick = 10;

/** A process, and those that it started and that they started. */
async function processTree(pid: number): Promise<number[]> {
  const tasks = await Array.fromAsync(Deno.readDir(`/proc/${pid}/task`));
  const children = await Promise.all(
    tasks.map(({ name }) => Deno.readTextFile(`/proc/${pid}/task/${name}/children`).catch(() => "")),
  );
  const ids = children.flatMap((text) => text.split(" ").filter((each) => each.trim() !== "").map(Number));
  return [pid, ...(await Promise.all(ids.map(processTree))).flat()];
}

/** One line of the report. */
export function print(what: string, figure: string): void {
  write(`${what.padEnd(56)} ${figure}\n`);
}

/** A table of the report, in Markdown. */
export function printTable(heads: readonly string[], rows: readonly (readonly string[])[]): void {
  const widths = heads.map((head, at) =>
    Math.max(3, head.length, ...rows.map((row) => row[at]?.length ?? 0))
  );
  const line = (cells: readonly string[]) =>
    `| ${widths.map((width, at) => (cells[at] ?? "").padEnd(width)).join(" | ")} |\n`;
  write([line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("") + "\n");
}

/** Where and when the figures below were taken. */
export async function printMachine(postgresVersion: string): Promise<void> {
  const processors = await Deno.readTextFile("/proc/cpuinfo").catch(() => "");
  const model = /model name\s*: (.*)/.exec(processors)?.[1] ?? Deno.build.arch;
  const server = Deno.env.get("POSTERN_EXECUTABLE") ?? `main.ts on Deno ${Deno.version.deno}`;
  const gibibytes = (Deno.systemMemoryInfo().total / 2 ** 30).toFixed(0);
  write(
    `${new Date().toISOString().slice(0, 10)}: ${navigator.hardwareConcurrency} cores (${model}), ` +
      `${gibibytes} GiB, ${Deno.build.os} ${Deno.osRelease()}; PostgreSQL ${postgresVersion}; ${server}\n\n`,
  );
}

function write(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(text));
}
