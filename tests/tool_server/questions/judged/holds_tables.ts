import type { SchemaExcerpt } from "../../../../src/tool_server/questions/schema/schema_excerpt.ts";
import type { Question } from "./question.ts";

/** Whether an excerpt describes all tables that a question needs, or all of another set that will do. */
export function holdsTables({ tables }: SchemaExcerpt, question: Question): boolean {
  const shown = new Set(tables.map(({ schema, name }) => `${schema}.${name}`));
  return [question.tables, ...question.otherTables ?? []].some((set) =>
    set.every((table) => shown.has(table))
  );
}
