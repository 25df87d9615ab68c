import type { ExplainOptions } from "../guard/statement_guard.ts";

// The planner estimates by statistics of all rows, and a run counts all rows, also those that row-level security hides. So
// a caller whom it holds gets plans without figures: the steps, and what they ask of each row.

/** Options that show no figure; PostgreSQL 16 came with the last one. */
const plain: readonly string[] = ["verbose", "format", "settings", "generic_plan"];

const isOff = (value: string) => ["off", "false", "0"].includes(value);

/** Whether EXPLAIN with these options tells an estimate, or what a run or the planner has counted. */
export function tellsFigures(options: ExplainOptions): boolean {
  const areHidden = options.some(([name]) => name === "costs") &&
    options.every(([name, value]) => plain.includes(name) || isOff(value));
  return !areHidden;
}

const gap = String.raw`(?:\s|--[^\n]*(?:\n|$)|/\*(?:[^*]|\*(?!/))*\*/)*`;
const listed = String.raw`\((?:[^()'"]|'[^']*'|"[^"]*")*\)`;
const start = (rest: string) => new RegExp(`^${gap}explain\\b${gap}${rest}`, "i");
const withoutOptions = start("");
const withOptions = start(String.raw`(?:${listed}|(?:analy[sz]e\b)?${gap}(?:verbose\b)?)`);

/** The same EXPLAIN without figures, as far as it is written plainly. */
function withoutFigures(sql: string, options: ExplainOptions): string {
  const kept = options.filter(([name, value]) => plain.includes(name) && /^\w+$/.test(value));
  const list = ["costs off", ...kept.map((option) => option.join(" "))].join(", ").toUpperCase();
  return sql.replace(options.length === 0 ? withoutOptions : withOptions, `EXPLAIN (${list}) `);
}

interface ExplainRequest<T> {
  readonly sql: string;
  readonly options: ExplainOptions;
  /** Runs such a statement. */
  readonly answer: (sql: string) => Promise<T>;
  /** By {@linkcode heldSql}, in the same transaction. */
  readonly isHeld: () => Promise<boolean>;
  /** As the guard reads them; undefined of what is no EXPLAIN. */
  readonly optionsOf: (sql: string) => Promise<ExplainOptions | undefined>;
}

/**
 * Answers EXPLAIN with its figures; where row-level security holds the caller, without, and without running the statement.
 *
 * @returns undefined for a caller whom it holds where the way EXPLAIN is written leaves no way to take its figures out
 */
export async function answerExplain<T extends object>(
  { sql, options, answer, isHeld, optionsOf }: ExplainRequest<T>,
): Promise<T & { readonly hidesFigures?: true } | undefined> {
  const hidden = withoutFigures(sql, options);
  const answerHidden = async () => {
    const read = await optionsOf(hidden);
    if (read === undefined || tellsFigures(read)) return undefined;
    return { ...await answer(hidden), hidesFigures: true as const };
  };
  if (options.some(([name, value]) => name === "analyze" && !isOff(value))) {
    const plan = await answerHidden();
    if (plan !== undefined && await isHeld()) return plan;
  }
  const told = await answer(sql);
  // by now the tables that functions have read are known too
  return await isHeld() ? await answerHidden() : told;
}

/** Why a plan has no figures, for whoever reads it. */
export const figuresHidden =
  "Row-level security holds you here: the statement was planned, not run, and costs and row counts are left out, since " +
  "they tell of rows that it hides.";

/** For whoever writes EXPLAIN in another way. */
export const figuresRefusal =
  "row-level security holds you here, and EXPLAIN's figures tell of rows that it hides; write EXPLAIN (COSTS OFF)";

/**
 * Whether row-level security holds the role of the transaction in a table that has been opened in it, by name, below a view
 * or by a policy: PostgreSQL keeps a lock on each until the end. Who may not read the table itself sees of it what a view's
 * owner may.
 */
export const heldSql =
  `SELECT EXISTS (SELECT FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_class c ON c.oid = l.relation
  WHERE l.locktype = 'relation' AND l.pid = pg_catalog.pg_backend_pid() AND c.relrowsecurity
    AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
    AND (pg_catalog.row_security_active(c.oid) OR NOT pg_catalog.has_table_privilege(c.oid, 'SELECT')))::pg_catalog.text`;
