import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import type { Catalog } from "../catalog.ts";
import { mentionedTables, nameOf, sqlName, sqlTable } from "../sql_names.ts";

/** Of so many tables columns are offered: each costs a request. */
const mostTables = 12;

/** Schemas, tables, and the columns of those tables that the statement names. */
export async function completeSql(
  context: CompletionContext,
  catalog: Catalog,
): Promise<CompletionResult | null> {
  const from = context.matchBefore(/[\p{L}\p{N}_$"]*$/u)?.from ?? context.pos;
  const text = context.state.doc.toString();
  const before = /("(?:[^"]|"")+"|[\p{L}\p{N}_$]+)\.$/u.exec(text.slice(Math.max(0, from - 130), from))?.[1];
  if (before === undefined && from === context.pos && !context.explicit) return null;
  const { tables } = await catalog.read();
  const byName = Map.groupBy(tables, ({ name }) => name);
  const name = before && nameOf(before);
  const mentioned = mentionedTables(
    text,
    (name, schema) => byName.get(name)?.find((table) => table.schema === (schema ?? table.schema)),
  ).filter(({ alias, table }) => name === undefined || alias === name || table.name === name);
  const some = [...new Set(mentioned.map(({ table }) => table))].slice(0, mostTables);
  const read = await Promise.all(some.map(({ schema, name }) => catalog.read(schema, name)));
  const options: Completion[] = read.flatMap(({ tables: [table] }) =>
    table?.columns?.map(({ name, data_type }) => ({
      label: name,
      apply: sqlName(name),
      type: "property",
      detail: `${data_type} · ${table.name}`,
      boost: 2,
    })) ?? []
  );
  for (const table of tables) {
    if (name !== undefined && name !== table.schema) continue;
    const apply = name === undefined ? sqlTable(table) : sqlName(table.name);
    options.push({ label: table.name, apply, type: "type", detail: table.schema });
  }
  for (const label of name === undefined ? new Set(tables.map(({ schema }) => schema)) : []) {
    options.push({ label, apply: sqlName(label), type: "namespace" });
  }
  return { from, options, validFor: /^[\p{L}\p{N}_$"]*$/u };
}
