import { listOf, type SyntaxNode, textOf, unwrap } from "./syntax_tree.ts";

/**
 * Windows that differ: each is a step of the plan over all columns of those before it. 128 of them take 40 MB to plan,
 * 200 take 600 MB, 800 take gigabytes.
 */
const maxWindows = 128;
/** Aggregates with DISTINCT or ORDER BY: each has `work_mem` for a sort of its own. */
const maxSortingAggregates = 256;
/**
 * Sets that GROUPING SETS, ROLLUP and CUBE come to: a CUBE of nine columns. PostgreSQL takes 4,096, and 700 MB for it.
 */
const maxGroupingSets = 512;

/** Values looked into to tell windows apart; a larger window is taken to differ from all others. */
const maxWindowValues = 300;

/** Counts, over a whole statement, the parts for each of which the planner and the executor take memory. */
export function createPlanBounds() {
  const windows = new Set<string>();
  let otherWindows = 0;
  let aggregates = 0;
  let sets = 0;

  return {
    /** Why the statement takes too much memory, as soon as it does. */
    add({ type, fields }: SyntaxNode): string | undefined {
      switch (type) {
        case "WindowDef": {
          if (isReference(fields)) return undefined;
          const key = keyOf(fields);
          if (key === undefined) otherWindows++;
          else windows.add(key);
          return windows.size + otherWindows > maxWindows
            ? `the statement has more than ${maxWindows} different windows; define those that sort alike once ` +
              "(WINDOW w AS …)"
            : undefined;
        }
        case "FuncCall":
          if (fields["agg_distinct"] === undefined && fields["agg_order"] === undefined) return undefined;
          return ++aggregates > maxSortingAggregates
            ? `the statement has more than ${maxSortingAggregates} aggregates with DISTINCT or ORDER BY; split ` +
              "it into several statements"
            : undefined;
        case "SelectStmt":
          sets += countSets(listOf(fields["groupClause"]));
          return sets > maxGroupingSets
            ? `GROUPING SETS, ROLLUP and CUBE make more than ${maxGroupingSets} groupings; list only those that ` +
              "you need"
            : undefined;
        default:
          return undefined;
      }
    },
  };
}

/** `OVER w`, where `w` is counted in the WINDOW clause. */
function isReference(fields: SyntaxNode["fields"]): boolean {
  return fields["name"] !== undefined &&
    ["refname", "partitionClause", "orderClause", "startOffset", "endOffset"].every((field) =>
      fields[field] === undefined
    );
}

/** Equal for windows that are written alike. */
function keyOf(fields: SyntaxNode["fields"]): string | undefined {
  let values = 0;
  const write = (value: unknown): string => {
    if (++values > maxWindowValues) return "";
    if (Array.isArray(value)) return `[${value.map(write).join()}]`;
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
    const entries = Object.entries(value).filter(([field]) => field !== "location");
    return `{${entries.map(([field, below]) => `${field}:${write(below)}`).join()}}`;
  };
  const key = write({ ...fields, name: undefined });
  return values > maxWindowValues ? undefined : key;
}

/** The groupings of a GROUP BY, which multiply each other; 0 where it has none of many sets. */
function countSets(items: readonly unknown[]): number {
  if (!items.some((item) => unwrap(item)?.type === "GroupingSet")) return 0;
  return items.reduce<number>((product, item) => Math.min(product * setsOf(item), maxGroupingSets + 1), 1);
}

function setsOf(item: unknown): number {
  const node = unwrap(item);
  if (node?.type !== "GroupingSet") return 1;
  const content = listOf(node.fields["content"]);
  switch (textOf(node.fields["kind"])) {
    case "GROUPING_SET_ROLLUP":
      return content.length + 1;
    case "GROUPING_SET_CUBE":
      return 2 ** content.length;
    case "GROUPING_SET_SETS":
      return content.reduce<number>((sum, inner) => sum + setsOf(inner), 0);
    default:
      return 1;
  }
}
