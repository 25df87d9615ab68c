import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Schema, Table } from "./schema.ts";
import { mentionedTables, nameOf, sqlName, sqlTable } from "./sql_names.ts";

/** Of so many tables columns are offered: each costs a request. */
const mostTables = 12;

/** Schemas, tables, and the columns of those tables that the statement names. */
export async function completeSql(
  context: CompletionContext,
  schema: Schema,
): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[\p{L}\p{N}_$"]*$/u);
  const from = word?.from ?? context.pos;
  const text = context.state.doc.toString();
  const [, before] = /("(?:[^"]|"")+"|[\p{L}\p{N}_$]+)\.$/u.exec(text.slice(Math.max(0, from - 130), from)) ??
    [];
  if (before === undefined && from === context.pos && !context.explicit) {
    return null;
  }
  const tables = await schema.tables();
  const byName = Map.groupBy(tables, ({ name }) => name);
  const mentions = mentionedTables(
    text,
    (name, schema) => byName.get(name)?.find((table) => table.schema === (schema ?? table.schema)),
  );
  const name = before === undefined ? undefined : nameOf(before);
  const schemas = new Set(tables.map(({ schema }) => schema));
  const options = await columnsOf(
    mentions.filter(({ alias, table }) => name === undefined || alias === name || table.name === name).map((
      { table },
    ) => table),
    schema,
  );
  for (const table of tables) {
    if (name === undefined) options.push(tableOption(table, sqlTable(table)));
    if (name === table.schema) {
      options.push(tableOption(table, sqlName(table.name)));
    }
  }
  for (const label of name === undefined ? schemas : []) {
    options.push({ label, apply: sqlName(label), type: "namespace" });
  }
  return { from, options, validFor: /^[\p{L}\p{N}_$"]*$/u };
}

function tableOption(table: Table, apply: string): Completion {
  return { label: table.name, apply, type: "type", detail: table.schema };
}

async function columnsOf(tables: readonly Table[], schema: Schema): Promise<Completion[]> {
  const some = [...new Set(tables)].slice(0, mostTables);
  const all = await Promise.all(
    some.map(async (table) =>
      (await schema.columnsOf(table)).map(({ name, data_type: type }) => ({
        label: name,
        apply: sqlName(name),
        type: "property",
        detail: `${type} · ${table.name}`,
        boost: 2,
      }))
    ),
  );
  return all.flat();
}
