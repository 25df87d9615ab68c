import { z } from "zod";
import type { Catalog } from "../core/catalog.ts";
import type { CallContext } from "../core/tool.ts";
import { readCatalog } from "../postgres/catalog.ts";
import type { Database, ReadOutcome } from "../postgres/database.ts";
import type { StatementGuard } from "../postgres/statement_guard.ts";
import { jsonValue, typeName } from "../postgres/type_names.ts";
import { looksLikeSql } from "../text/sql_or_words.ts";
import { formatTsv } from "../text/tsv.ts";
import { databaseArgument } from "./arguments.ts";
import type { DatabaseDirectory } from "./database_directory.ts";
import { statementErrorText } from "./statement_error_text.ts";
import { defineTool, type Tool } from "./tool.ts";

/** Turns a request in words into one statement, or says why it does not. */
export type StatementWriter = (
  request: string,
  catalog: Catalog,
) => { readonly kind: "statement"; readonly sql: string } | {
  readonly kind: "refused";
  readonly reason: string;
};

export interface QueryDatabaseOptions {
  readonly directory: DatabaseDirectory;
  readonly guard: StatementGuard;
  /** Absent where no completion provider is configured. */
  readonly writeStatement?: StatementWriter;
}

const description =
  `Answer a question from the database: send a request in natural language, or one SQL statement.

SQL is run as it is. Only reads run: SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW, one statement a call, in a
read-only transaction that is rolled back. Call get_schema_info first to learn the tables and columns.

Rows come as tab-separated values under a header; \\N is NULL, and tab, line feed and backslash are escaped as \\t, \\n, \\\\.
At most \`limit\` rows come back; the answer says where there are more and which \`offset\` gets the next. Prefer WHERE,
GROUP BY and aggregates to fetching many rows.`;

const input = z.strictObject({
  query: z.string().min(1).max(100_000).describe("A request in natural language, or one SQL statement."),
  limit: z.int().min(1).max(1000).default(100).describe("Rows to return at most."),
  offset: z.int().min(0).max(1_000_000).default(0).describe(
    "Rows to skip first. Only sensible where the statement has an ORDER BY.",
  ),
  database: databaseArgument,
});

const output = z.object({
  database: z.string(),
  sql: z.string().describe("The statement that ran."),
  columns: z.array(z.object({ name: z.string(), type: z.string() })),
  rows: z.array(z.array(z.unknown())).describe(
    "Values in the columns' order: numbers and booleans where JSON holds them exactly, JSON as it is, else text.",
  ),
  row_count: z.int().describe("Rows in this answer."),
  truncated: z.boolean().describe("Whether the statement has more rows than these."),
  next_offset: z.int().optional().describe("The offset that gets the next rows; only where truncated."),
});

export function queryDatabase(options: QueryDatabaseOptions): Tool {
  const { directory, guard } = options;
  const parses = (sql: string) => {
    const verdict = guard.check(sql);
    return verdict.ok || verdict.sqlState !== "42601";
  };

  return defineTool({
    name: "query_database",
    title: "Query database",
    description,
    input,
    output,
    async run({ query, limit, offset, database: name }, context) {
      const { principal, signal } = context;
      const database = directory.resolve(principal, name);
      const written = looksLikeSql(query, parses)
        ? { kind: "statement" as const, sql: query.trim() }
        : await write(options.writeStatement, query, database, context);
      if (written.kind === "refused") return { failure: written.reason };

      const outcome = await database.read({ principal, sql: written.sql, signal, maxRows: limit, offset });
      if (!outcome.ok) return { failure: statementErrorText(outcome.error, written.sql) };
      return answer(database.name, written.sql, outcome, offset);
    },
  });
}

async function write(
  writer: StatementWriter | undefined,
  request: string,
  database: Database,
  { principal, signal }: CallContext,
): Promise<ReturnType<StatementWriter>> {
  if (writer === undefined) {
    return {
      kind: "refused",
      reason: "Cannot answer a request in natural language: no completion provider is configured. " +
        "Send one SQL statement instead (get_schema_info shows the tables), " +
        "or have the server's administrator set llm.provider in its configuration",
    };
  }
  return writer(request, await readCatalog(database, { principal, signal }));
}

function answer(database: string, sql: string, outcome: ReadOutcome & { ok: true }, offset: number) {
  const { columns, rows } = outcome;
  const truncated = outcome.truncatedBy !== undefined;
  const next = offset + rows.length;
  const more = truncated ? `, more available: call again with offset=${next} for the next` : "";
  const count = `${rows.length} ${rows.length === 1 ? "row" : "rows"}${more}`;
  const sizeNote = outcome.truncatedBy === "bytes"
    ? "\nThe answer reached its size limit; select fewer columns."
    : "";
  return {
    text: `Database: ${database}\n\nSQL Query:\n${sql}\n\nResults (${count}):${sizeNote}\n` +
      formatTsv(columns.map((column) => column.name), rows),
    data: {
      database,
      sql,
      columns: columns.map((column) => ({ name: column.name, type: typeName(column.typeOid) })),
      rows: rows.map((row) => row.map((value, index) => jsonValue(value, columns[index]?.typeOid ?? 0))),
      row_count: rows.length,
      truncated,
      ...(truncated ? { next_offset: next } : {}),
    },
  };
}
