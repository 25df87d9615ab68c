/** What a server's processes hold together, as Linux counts it. */
export interface Holdings {
  /** Proportional set size: what processes share counts once. In MiB. */
  readonly memory: number;
  readonly descriptors: number;
}

export function childrenOf(pid: number): number[] {
  const text = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/children`);
  return text.trim().split(" ").filter((part) => part !== "").map(Number);
}

export async function holdingsOf(pid: number): Promise<Holdings> {
  let [memory, descriptors] = [0, 0];
  for (const each of [pid, ...childrenOf(pid)]) {
    const rollup = await Deno.readTextFile(`/proc/${each}/smaps_rollup`);
    memory += Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) / 1024;
    descriptors += (await Array.fromAsync(Deno.readDir(`/proc/${each}/fd`))).length;
  }
  return { memory, descriptors };
}
