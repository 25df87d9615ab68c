import type { Condition, Filter, Question } from "./documents_api.ts";

/** The comparisons of `docs/rag.md`, "Filters". */
export const operators = "= != < > <= >= LIKE ILIKE IN".split(" ")
  .concat("NOT IN", "IS NULL", "IS NOT NULL");

/** What narrows a question, of the form's fields. Values go as text, which fits every type of column. */
export function narrowingOf(form: FormData): Omit<Question, "query"> {
  const textsOf = (name: string) => form.getAll(name).map(String);
  const [written, values] = [textsOf("operator"), textsOf("value")];
  const conditions = textsOf("column").flatMap((column, at): Condition[] => {
    const [operator = "=", value = ""] = [written[at], values[at]];
    if (column.trim() === "") return [];
    const condition = { column: column.trim(), operator };
    if (operator.endsWith("NULL")) return [condition];
    const isList = operator.endsWith("IN");
    return [{ ...condition, value: isList ? listOf(value) : value }];
  });
  const [topN = ""] = textsOf("top_n");
  const filter = { conditions, logic: textsOf("logic")[0] ?? "AND" };
  return {
    ...(topN !== "" && { top_n: Number(topN) }),
    ...(form.has("by_meaning") && { disable_hybrid: true as const }),
    ...(conditions.length > 0 && { filter }),
  };
}

/** Commas part the values; one that has a comma stands in double quotes, in which two stand for one. */
function listOf(text: string): string[] {
  const values = text.matchAll(/\s*(?:"((?:[^"]|"")*)"\s*|([^,]*))(?:,|$)/g);
  const all = Array.from(values, ([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain.trim());
  return all.filter((value, at) => value !== "" || at < all.length - 1);
}

export function filterText({ conditions, logic }: Filter): string {
  const texts = conditions.map(({ column, operator, value = [] }) =>
    [column, operator, [value].flat().join(", ")].join(" ").trimEnd()
  );
  return texts.join(` ${logic} `);
}
