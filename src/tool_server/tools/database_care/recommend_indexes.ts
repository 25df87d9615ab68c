import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import type { Database } from "../../../postgres/database.ts";
import type { CheckScheduler } from "../../../postgres/guard/check_scheduler.ts";
import { loadParser, type Parser } from "../../../postgres/guard/parser.ts";
import { quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { createFence } from "../../../text/fence.ts";
import { formatTsv } from "../../../text/tsv.ts";
import type { CallContext } from "../../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "../databases/database_directory.ts";
import { defineTool, type Tool } from "../tool.ts";
import { createSlices } from "../../../core/async/yield.ts";
import type { SyntaxNode } from "../../../postgres/guard/syntax_tree.ts";
import { howTo, readStatementStatistics, shownStatement, topQueries } from "./top_queries.ts";
import { type FindColumn, parametersOf, type TableName, tablesOf, tableUses } from "./indexes/table_uses.ts";
import { type Candidate, findCandidates, type WeighedUse } from "./indexes/candidates.ts";
import { readTableStatistics, type TableStatistics } from "./indexes/table_statistics.ts";
import { type Choice, chooseIndexes, type ChosenIndex } from "./indexes/choose_indexes.ts";
import { objectName, percent, some } from "./health/health_check.ts";
import { sizeText } from "../../../core/text/units.ts";
import { analyzeHealth } from "./analyze_health.ts";

const maxStatements = 50;
/** Indexes that are tried; the others spare least by the statistics. */
const maxCandidates = 60;
const timeoutMs = 30_000;
const maxShownCharacters = 300;

const recommendation = z.object({
  table: z.string(),
  columns: z.array(z.string()),
  sql: z.string().describe("For a person to run."),
  reasons: z.array(z.string()),
  statements: z.array(z.object({
    number: z.int(),
    cost_before: z.number().optional(),
    cost_after: z.number().optional(),
  })),
  gain: z.number().optional().describe("Of the cost of all statements, from 0 to 1."),
  bytes: z.number().optional().describe("Its size, estimated."),
  writes: z.number().nullable().describe("Rows of the table written since statistics began."),
});

const output = z.object({
  database: z.string(),
  measured: z.boolean().describe("Whether PostgreSQL's own cost was asked."),
  recommendations: z.array(recommendation),
  statements: z.array(z.object({
    number: z.int(),
    query: z.string(),
    weight: z.number().describe("How often it was run; 1 for statements of the call."),
    cost_before: z.number().optional(),
    cost_after: z.number().optional(),
    skipped: z.string().optional(),
  })),
  note: z.string().optional(),
});

type Recommendation = z.infer<typeof recommendation>;

export interface RecommendIndexesOptions {
  readonly directory: DatabaseDirectory;
  readonly guard: Pick<CheckScheduler, "check">;
}

export function recommendIndexes({ directory, guard }: RecommendIndexesOptions): Tool {
  let parser: Promise<Parser> | undefined;
  return defineTool({
    name: "recommend_indexes",
    title: "Recommend indexes",
    description:
      "Propose indexes for `statements`, or for the costliest that pg_stat_statements knows, with what " +
      "PostgreSQL's planner would save. Use it for slow SELECTs. Show the SQL to a person; it is not run.",
    input: z.strictObject({
      statements: z.array(z.string().min(1).max(100_000)).min(1).max(maxStatements).optional()
        .describe("SELECTs; `$1` may stand for values."),
      limit: z.int().min(1).max(20).default(5).describe("Of indexes."),
      database: databaseArgument,
    }),
    output,
    untrusted: ["recommendations", "statements"],
    annotations: { idempotentHint: true },
    async run({ statements: given, limit, database: name }, context) {
      const database = directory.resolve(context.principal, name);
      const toServe = await statementsToServe(database, given, context);
      if ("errorText" in toServe) return toServe;
      parser ??= loadParser().catch((error) => {
        parser = undefined;
        throw error;
      });
      const read = await readWorkload(toServe.statements, { guard, parser: await parser, context });
      const { workload, candidates } = await candidatesFor(database, context, read, given !== undefined);
      const tried = candidates.slice(0, maxCandidates);
      const served = workload.filter((each) => "tree" in each);
      const endsAt = performance.now() + timeoutMs * 0.8;
      const trial = await database.tryIndexes(
        { principal: context.principal, signal: context.signal, timeoutMs },
        (trial) =>
          chooseIndexes(trial, {
            statements: served,
            candidates: tried,
            limit,
            isOver: () => performance.now() > endsAt,
          }),
      );
      context.signal.throwIfAborted();
      const choice = trial.ok ? trial.value : undefined;
      const recommendations = choice === undefined
        ? bestGuesses(tried).slice(0, limit).map(guessed)
        : choice.chosen.map(measured);
      const note = [
        ...(trial.ok ? [] : [`The gain was not measured: ${trial.reason}.${advice[trial.why]}`]),
        ...(choice?.isCut ? ["The time was over before all indexes were tried."] : []),
        ...(toServe.note === undefined ? [] : [toServe.note]),
      ].join(" ");
      const statements = workload.map((statement) => described(statement, choice));
      return {
        text: `Database: ${database.name}\n\nIndexes proposed: ${recommendations.length}, for ` +
          `${some(served.length, "statement")}${note === "" ? "" : `. ${note}`}\n` +
          `${createFence().wrap(`${recommendationsTable(recommendations)}${statementsTable(statements)}`)}` +
          (recommendations.length === 0 ? "" : `\n${forPeople}`),
        data: {
          database: database.name,
          measured: choice !== undefined,
          recommendations,
          statements,
          ...(note !== "" && { note }),
        },
      };
    },
  });
}

/** The tools that look after databases, which a configuration has to name. */
export function careTools(options: RecommendIndexesOptions): Tool[] {
  return [analyzeHealth(options), topQueries(options), recommendIndexes(options)];
}

const advice = {
  missing:
    " An administrator installs it (Debian: apt install postgresql-NN-hypopg), then in this database: " +
    "CREATE EXTENSION hypopg; no restart is needed.",
  pooler: "",
  failed: "",
} as const;

const forPeople =
  "No index was made. Each one slows down writes to its table; show the SQL to a person who decides.";

async function statementsToServe(
  database: Database,
  given: readonly string[] | undefined,
  context: CallContext,
): Promise<
  { readonly statements: readonly StatementToServe[]; readonly note?: string } | {
    readonly errorText: string;
  }
> {
  if (given !== undefined) return { statements: given.map((sql) => ({ sql, weight: 1 })) };
  const read = await readStatementStatistics(database, context, {
    order: "total_time",
    limit: maxStatements,
    isRead: true,
  });
  if (!read.ok) {
    return {
      errorText:
        `Cannot tell which statements database "${database.name}" runs; give them as \`statements\`: ${
          howTo(read)
        }`,
    };
  }
  return {
    statements: read.statements.map(({ query, calls }) => ({ sql: query, weight: calls })),
    ...(read.ofAllRoles ? {} : {
      note: `Statements of other roles are left out: GRANT pg_read_all_stats TO ${quoteIfNeeded(read.role)};`,
    }),
  };
}

/** The candidates for a workload; of what the server counted, only what reads tables of the database's own is kept. */
async function candidatesFor(
  database: Database,
  context: CallContext,
  read: readonly WorkloadStatement[],
  isGiven: boolean,
): Promise<{ readonly workload: readonly WorkloadStatement[]; readonly candidates: readonly Candidate[] }> {
  const keyOf = ({ schema, table }: TableName) => JSON.stringify([schema ?? null, table]);
  const names = new Map<string, TableName>();
  const tables = new Map(read.map((statement) => {
    const named = "tree" in statement ? tablesOf(statement.tree) : [];
    for (const each of named) names.set(keyOf(each), each);
    return [statement.number, named] as const;
  }));
  const known = names.size === 0 ? [] : await readTableStatistics(database, context, [...names.values()]);
  const byName = new Map(known.map((table): [string, TableStatistics] => [
    JSON.stringify([table.wantedSchema, table.wantedName]),
    table,
  ]));
  const workload = read.filter(({ number }) =>
    isGiven || tables.get(number)?.some((each) => byName.has(keyOf(each)))
  );
  const findColumn: FindColumn = (among, column) => {
    const at = among.findIndex((each) =>
      byName.get(keyOf(each))?.columns.some(({ name }) => name === column)
    );
    return at === -1 ? undefined : at;
  };
  const uses = workload.flatMap((statement) => {
    if (!("tree" in statement)) return [];
    const { number, weight, tree } = statement;
    return tableUses(tree, findColumn).flatMap((use): WeighedUse[] => {
      const table = byName.get(keyOf(use));
      return table === undefined ? [] : [{ statement: number, weight, table, use }];
    });
  });
  return { workload, candidates: findCandidates(uses) };
}

/** What each further column has to bring. */
const columnPrice = 0.01;

/** The best by the statistics alone; of two of which one begins with the other, the better one. */
function bestGuesses(candidates: readonly Candidate[]): Candidate[] {
  const worth = ({ sparedRows, columns }: Candidate) => sparedRows * (1 - columnPrice * columns.length);
  const kept: Candidate[] = [];
  for (const each of candidates.toSorted((a, b) => worth(b) - worth(a))) {
    const isServed = kept.some((other) =>
      other.table === each.table && beginAlike(other.columns, each.columns)
    );
    if (!isServed) kept.push(each);
  }
  return kept;
}

function beginAlike(some: readonly string[], others: readonly string[]): boolean {
  return some.slice(0, others.length).every((column, at) => column === others[at]);
}

function proposal({ table, columns, reasons }: Candidate) {
  const name = objectName(table.schema, table.name);
  return {
    table: name,
    columns: [...columns],
    sql: `CREATE INDEX CONCURRENTLY ON ${name} (${columns.map(quoteIfNeeded).join(", ")});`,
    reasons: [...reasons],
    writes: table.writes,
  };
}

function guessed(candidate: Candidate): Recommendation {
  return { ...proposal(candidate), statements: candidate.statements.map((number) => ({ number })) };
}

function measured({ candidate, bytes, gain, improved }: ChosenIndex): Recommendation {
  return {
    ...proposal(candidate),
    statements: improved.map(({ number, before, after }) => ({
      number,
      cost_before: before,
      cost_after: after,
    })),
    gain: Math.round(gain * 1_000) / 1_000,
    bytes,
  };
}

function described(statement: WorkloadStatement, choice: Choice | undefined) {
  const { number, sql, weight } = statement;
  const costs = choice?.costs.get(number);
  const skipped = "skipped" in statement ? statement.skipped : choice?.unplanned.get(number);
  const shown = shownStatement(sql);
  return {
    number,
    query: shown.length <= maxShownCharacters ? shown : `${shown.slice(0, maxShownCharacters)}…`,
    weight,
    ...(costs && { cost_before: costs.before, cost_after: costs.after }),
    ...defined({ skipped }),
  };
}

function recommendationsTable(recommendations: readonly Recommendation[]): string {
  if (recommendations.length === 0) return "";
  const header = ["sql", "gain", "size", "statements", "reasons", "writes to the table"];
  const rows = recommendations.map(({ sql, gain, bytes, statements, reasons, writes }) => [
    sql,
    gain === undefined ? "not measured" : percent(gain),
    bytes === undefined ? "" : sizeText(bytes),
    statements.map(({ number, cost_before, cost_after }) =>
      cost_before === undefined ? `${number}` : `${number} (${cost_before} to ${cost_after})`
    ).join(", "),
    reasons.join("; "),
    writes === null ? null : String(writes),
  ]);
  return `${formatTsv(header, rows)}\n\n`;
}

function statementsTable(statements: readonly ReturnType<typeof described>[]): string {
  return formatTsv(
    ["number", "query", "weight", "cost before", "cost after", "skipped"],
    statements.map(({ number, query, weight, cost_before, cost_after, skipped }) =>
      [number, query, weight, cost_before ?? "", cost_after ?? "", skipped ?? ""].map(String)
    ),
  );
}

/** Longer ones are not taken apart: that would hold up other callers. */
const maxStatementLength = 5_000;

interface StatementToServe {
  readonly sql: string;
  readonly weight: number;
}

type WorkloadStatement =
  & StatementToServe
  & { readonly number: number }
  & (
    | { readonly tree: SyntaxNode; readonly parameters: number }
    | { readonly skipped: string }
  );

/** The statements of a workload that the guard lets through, taken apart, and why the others are not. */
async function readWorkload(
  statements: readonly StatementToServe[],
  { guard, parser, context }: {
    readonly guard: Pick<CheckScheduler, "check">;
    readonly parser: Pick<Parser, "parse">;
    readonly context: Pick<CallContext, "principal" | "signal" | "span">;
  },
): Promise<WorkloadStatement[]> {
  const { principal, signal, span } = context;
  const nextSlice = createSlices(signal);
  const read: WorkloadStatement[] = [];
  for (const [at, statement] of statements.entries()) {
    const { sql } = statement;
    const skip = (skipped: string) => read.push({ ...statement, number: at + 1, skipped });
    if (sql.length > maxStatementLength) {
      skip(`it is longer than ${maxStatementLength} characters`);
      continue;
    }
    // at least as many as it names; one in a text or a comment is none
    const named = Math.max(0, ...[...sql.matchAll(/\$(\d{1,5})/g)].map(([, number]) => Number(number)));
    const result = await guard.check(sql, { principal, signal, span, parameters: { length: named } });
    if (!result.ok || result.kind !== "select") {
      skip(result.ok ? "it is no query" : result.reason);
      continue;
    }
    await nextSlice();
    const parsed = parser.parse(sql);
    const tree = parsed.ok ? parsed.statements[0] : undefined;
    if (tree === undefined) skip("it cannot be taken apart");
    else read.push({ ...statement, number: at + 1, tree, parameters: parametersOf(tree) });
  }
  return read;
}
