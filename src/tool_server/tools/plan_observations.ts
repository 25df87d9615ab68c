interface PlanNode {
  readonly line: string;
  readonly details: readonly string[];
}

/** What in a plan of EXPLAIN's text format deserves a look, each as a sentence; none where nothing stands out. */
export function observePlan(plan: string): string[] {
  return [...new Set(planNodes(plan).flatMap((node) => observers.flatMap((observe) => observe(node) ?? [])))];
}

// a node starts a line with "->" (the first has none) and a cost; the lines until the next are its details
function planNodes(plan: string): PlanNode[] {
  const nodes: { line: string; details: string[] }[] = [];
  for (const line of plan.split("\n")) {
    if (/\(cost=[\d.]+\.\.[\d.]+ /.test(line)) {
      nodes.push({ line: line.trim().replace(/^->\s*/, ""), details: [] });
    } else nodes.at(-1)?.details.push(line.trim());
  }
  return nodes;
}

const observers: readonly ((node: PlanNode) => string | undefined)[] = [
  function discardedRows({ line, details }) {
    const table = /Seq Scan on (\S+)/.exec(line)?.[1];
    const removed = Number(find(details, /^Rows Removed by Filter: (\d+)/) ?? 0);
    const kept = actual(line)?.rows ?? 0;
    if (table === undefined || removed < 1000 || removed < kept * 9) return undefined;
    const filter = find(details, /^Filter: (.*)/);
    return `Sequential scan on ${table} reads ${kept + removed} rows to keep ${kept}; ` +
      `an index that serves ${filter ?? "its filter"} would help if this runs often`;
  },
  function misestimate({ line }) {
    const estimated = Number(/\(cost=\S+ rows=(\d+)/.exec(line)?.[1] ?? NaN);
    const seen = actual(line);
    if (seen === undefined || Number.isNaN(estimated)) return undefined;
    const ratio = Math.max(estimated, 1) / Math.max(seen.rows, 1);
    if (Math.max(estimated, seen.rows) < 1000 || (ratio < 10 && ratio > 0.1)) return undefined;
    return `${nodeName(line)} was expected to give ${estimated} rows and gave ${seen.rows}; ` +
      "statistics may be stale (ANALYZE) or the condition hard to estimate";
  },
  function spill({ line, details }) {
    const kB = find(details, /Sort Method: external.*Disk: (\d+)kB/) ?? find(details, /Disk Usage: (\d+)kB/);
    return kB === undefined
      ? undefined
      : `${nodeName(line)} spilled ${kB} kB to disk: work_mem is too small for it`;
  },
  function repeatedScan({ line }) {
    const seen = actual(line);
    const table = /Seq Scan on (\S+)/.exec(line)?.[1];
    if (table === undefined || seen === undefined || seen.loops < 100) return undefined;
    return `Sequential scan on ${table} ran ${seen.loops} times; an index on the joined column would help`;
  },
];

function nodeName(line: string): string {
  return line.split("  (cost=")[0] ?? line;
}

function actual(line: string): { rows: number; loops: number } | undefined {
  const match = /\(actual (?:time=\S+ )?rows=([\d.]+) loops=(\d+)\)/.exec(line);
  return match === null ? undefined : { rows: Number(match[1]), loops: Number(match[2]) };
}

function find(lines: readonly string[], pattern: RegExp): string | undefined {
  for (const line of lines) {
    const match = pattern.exec(line);
    if (match !== null) return match[1];
  }
  return undefined;
}
