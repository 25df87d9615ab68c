import { defined } from "../../../core/defined.ts";
import { z } from "zod";
import type { Database } from "../../../postgres/database.ts";
import { quoteIdentifier, quoteIfNeeded } from "../../../postgres/sql_text.ts";
import { createFence } from "../../../text/fence.ts";
import { formatTsv } from "../../../text/tsv.ts";
import type { CallContext } from "../../call_context.ts";
import { databaseArgument, type DatabaseDirectory } from "../databases/database_directory.ts";
import { defineTool, type Tool } from "../tool.ts";
import { heldTableSql, readOwn, whyNoStatistics } from "./read_own.ts";

const statementOrders = ["total_time", "mean_time", "calls", "rows", "io"] as const;

type StatementOrder = (typeof statementOrders)[number];

/** What pg_stat_statements counts of one statement, in one database; blocks have 8 kB. */
const statementStatistics = z.object({
  id: z.string().nullable(),
  query: z.string().describe("With $1 and so on in place of constants; of other commands the first words."),
  role: z.string().nullable(),
  calls: z.number(),
  total_ms: z.number(),
  mean_ms: z.number(),
  share: z.number().describe("Of the time of all statements that are counted, from 0 to 1."),
  rows: z.number(),
  blocks: z.number().describe("Blocks asked for, in the cache or not."),
  blocks_read: z.number().describe("Of them, those that were not in the cache."),
  temp_blocks: z.number(),
});

type StatementStatistics = z.infer<typeof statementStatistics>;

const output = z.object({
  database: z.string(),
  order_by: z.enum(statementOrders),
  queries: z.array(statementStatistics),
  total: z.int().describe("Statements that are counted."),
  unseen: z.string().optional().describe("What the role may not see."),
});

export function topQueries({ directory }: { readonly directory: DatabaseDirectory }): Tool {
  return defineTool({
    name: "top_queries",
    title: "Show the costliest statements",
    description:
      "Show which statements have cost the database most since its statistics began, by pg_stat_statements. " +
      "Use it to find what to make faster; then explain a statement or ask recommend_indexes.",
    input: z.strictObject({
      order_by: z.enum(statementOrders).default("total_time").describe("io: blocks read and written."),
      limit: z.int().min(1).max(100).default(10),
      database: databaseArgument,
    }),
    output,
    untrusted: ["queries"],
    annotations: { idempotentHint: true },
    async run({ order_by: order, limit, database: name }, context) {
      const database = directory.resolve(context.principal, name);
      const read = await readStatementStatistics(database, context, { order, limit });
      if (!read.ok) {
        return { errorText: `Cannot show statements of database "${database.name}": ${howTo(read)}` };
      }
      const queries = read.statements.map((statement) => ({
        ...statement,
        query: shownStatement(statement.query),
        total_ms: rounded(statement.total_ms),
        mean_ms: rounded(statement.mean_ms),
        share: rounded(statement.share),
      }));
      const unseen = read.ofAllRoles
        ? undefined
        : `statements of other roles: GRANT pg_read_all_stats TO ${quoteIfNeeded(read.role)};`;
      const [first] = queries;
      const table = first === undefined ? "No statement is counted yet." : formatTsv(
        Object.keys(first),
        queries.map((query) => Object.values(query).map((value) => value === null ? null : String(value))),
      );
      return {
        text: `Database: ${database.name}\n\n${queries.length} of ${read.total} statements by ${order}` +
          `${unseen === undefined ? "" : `; not among them: ${unseen}`}\n${createFence().wrap(table)}`,
        data: {
          database: database.name,
          order_by: order,
          queries,
          total: read.total,
          ...defined({ unseen }),
        },
      };
    },
  });
}

function rounded(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

/** How to get what pg_stat_statements gives. */
export function howTo({ why, reason }: StatementsRead & { readonly ok: false }): string {
  switch (why) {
    case "missing":
      return `${reason}. An administrator installs it: shared_preload_libraries = 'pg_stat_statements' in ` +
        "postgresql.conf (with what stands there already), a restart of the server, then in this database: " +
        "CREATE EXTENSION pg_stat_statements;";
    case "not_loaded":
      return "pg_stat_statements is not loaded. An administrator adds it to shared_preload_libraries in " +
        "postgresql.conf and restarts the server";
    case "failed":
      return reason;
  }
}

type StatementsRead =
  | {
    readonly ok: true;
    readonly statements: readonly StatementStatistics[];
    readonly total: number;
    /** False where those of other roles are left out, as the role may not read them. */
    readonly ofAllRoles: boolean;
    readonly role: string;
  }
  | { readonly ok: false; readonly why: "missing" | "not_loaded" | "failed"; readonly reason: string };

// the extension may be older than the server, or newer: its columns tell
const columnsSql = `
select quote_ident(n.nspname), array_to_string(array(select a.attname from pg_attribute a
    where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped), ' '),
  current_user, pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')::text, ${heldTableSql}
from pg_extension e
join pg_namespace n on n.oid = e.extnamespace
join pg_class c on c.relnamespace = n.oid and c.relname = 'pg_stat_statements'
where e.extname = 'pg_stat_statements'`;

/**
 * The statements of this database that pg_stat_statements has counted, the first by an order. Those of other databases on
 * the server are never told: who may use one database need not know of another.
 *
 * @param options.isRead whether only what begins like a query is wanted
 * @throws as {@linkcode readOwn}
 */
export async function readStatementStatistics(
  database: Database,
  context: CallContext,
  { order, limit, isRead = false }: {
    readonly order: StatementOrder;
    readonly limit: number;
    readonly isRead?: boolean;
  },
): Promise<StatementsRead> {
  const found = await readOwn(database, context, columnsSql);
  if (!found.ok) return { ok: false, why: "failed", reason: found.reason };
  const [schema, columnList, role = "", readsAll, heldTable] = found.rows[0] ?? [];
  if (typeof schema !== "string") {
    return { ok: false, why: "missing", reason: "the extension pg_stat_statements is not in this database" };
  }
  if (typeof heldTable === "string") {
    return { ok: false, why: "failed", reason: whyNoStatistics(heldTable) };
  }
  const columns = new Set(columnList?.split(" "));
  const ofAllRoles = readsAll === "true";
  const sql = statisticsSql(schema, columns, { order, ofAllRoles, isRead });
  const result = await readOwn(database, context, sql, [String(limit)]);
  if (!result.ok) {
    const isUnloaded = result.reason.includes("shared_preload_libraries");
    return { ok: false, why: isUnloaded ? "not_loaded" : "failed", reason: result.reason };
  }
  const rows = result.rows.map(([json]): StatementStatistics & { readonly found: number } =>
    JSON.parse(json ?? "null")
  );
  return {
    ok: true,
    statements: rows.map(({ found: _found, ...statement }) => statement),
    total: rows[0]?.found ?? 0,
    ofAllRoles,
    role: role ?? "",
  };
}

function statisticsSql(
  schema: string,
  columns: ReadonlySet<string>,
  { order, ofAllRoles, isRead }: {
    readonly order: StatementOrder;
    readonly ofAllRoles: boolean;
    readonly isRead: boolean;
  },
): string {
  const column = (...names: readonly string[]) => {
    const name = names.find((each) => columns.has(each));
    return name === undefined ? "0" : `s.${quoteIdentifier(name)}`;
  };
  // before 1.8 planning was not told apart
  const time = column("total_exec_time", "total_time");
  const read = `${column("shared_blks_read")} + ${column("local_blks_read")}`;
  const written = `${column("shared_blks_written")} + ${column("local_blks_written")}`;
  const temp = `${column("temp_blks_read")} + ${column("temp_blks_written")}`;
  const orders: Readonly<Record<StatementOrder, string>> = {
    total_time: "total",
    mean_time: "total / greatest(calls, 1)",
    calls: "calls",
    rows: "rows",
    io: "io",
  };
  const mine = ofAllRoles
    ? ""
    : "and s.userid = (select oid from pg_roles where rolname = current_user) and s.queryid is not null";
  const reads = isRead ? "and ltrim(s.query, E' \\t\\n\\r(') ~* '^(select|with|values|table|/[*]|--)'" : "";
  // one statement counts once, whether it was run at the top or inside of a function, and by whomever
  return `
select json_build_object('id', queryid::text, 'query', query, 'role', roles, 'calls', calls, 'total_ms', total,
  'mean_ms', total / greatest(calls, 1), 'share', total / greatest(sum(total) over (), 0.001), 'rows', rows,
  'blocks', blocks, 'blocks_read', blocks_read, 'temp_blocks', temp_blocks, 'found', count(*) over ())
from (
  select s.queryid, min(s.query) as query, string_agg(distinct r.rolname, ', ') as roles, sum(s.calls)::float8 as calls,
    sum(${time})::float8 as total, sum(s.rows)::float8 as rows,
    sum(${column("shared_blks_hit")} + ${column("local_blks_hit")} + ${read})::float8 as blocks,
    sum(${read})::float8 as blocks_read, sum(${temp})::float8 as temp_blocks,
    sum(${read} + ${written} + ${temp})::float8 as io
  from ${schema}.pg_stat_statements s
  left join pg_roles r on r.oid = s.userid
  where s.dbid = (select oid from pg_database where datname = current_database()) ${mine} ${reads}
  group by s.queryid, case when s.queryid is null then s.query end
) each
order by ${orders[order]} desc, total desc, queryid
limit $1::int`;
}

/** What a model is shown of a statement's text, in characters. */
const maxShown = 1_000;

const withPlaceholders = /^(?:select|insert|update|delete|merge|values|table|with)\b/i;

/** SELECT INTO, which makes a table and so is a command, whatever it begins like; INSERT and MERGE have an INTO of their own. */
const intoTable = /(?<!\b(?:insert|merge)\s*)\binto\b/i;

/**
 * The text of a counted statement, as far as it may be told. pg_stat_statements puts `$1` for the constants of queries and
 * writes alone. Before PostgreSQL 16 it keeps those of every other command as they came, a password in ALTER ROLE for
 * example: of these no more than the command is told.
 */
export function shownStatement(text: string): string {
  const bare = withoutLeadingComments(text);
  if (!withPlaceholders.test(bare)) {
    const command = /^[a-z]+(?:\s+[a-z]+)?/i.exec(bare)?.[0].replace(/\s+/g, " ").toUpperCase();
    return command === undefined ? "(a command)" : `${command} …`;
  }
  if (intoTable.test(bare)) return "SELECT INTO …";
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}… (${text.length} characters)`;
}

function withoutLeadingComments(text: string): string {
  let rest = text;
  for (;;) {
    const before = rest;
    rest = rest.replace(/^[\s(;]+/, "").replace(/^--[^\n]*(?:\n|$)/, "");
    if (rest.startsWith("/*")) rest = rest.slice(commentLength(rest));
    if (rest === before) return rest;
  }
}

/** Comments nest. One without an end takes all that is left. */
function commentLength(text: string): number {
  let depth = 0;
  for (const mark of text.matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.index + 2;
  }
  return text.length;
}
