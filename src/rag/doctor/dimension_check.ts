import { quoteIdentifier } from "../../postgres/quote_identifier.ts";
import type { VectorColumn } from "../document_table.ts";
import { type Check, error, note } from "./check.ts";
import { readRows } from "./read_rows.ts";
import { shellWord, type TableSubject } from "./table_subject.ts";

/** Whether the column's vectors are as long as the provider's. */
export function dimensionCheck(subject: TableSubject): Check {
  const { settings, table: { vector }, facts, pipeline } = subject;
  return {
    name: `dimensions of ${settings.table}`,
    async run(signal) {
      const provided = (await subject.embedding())?.length;
      const stored = vector.dimensions ?? await storedDimensions(subject, signal);
      // the provider's own check tells of a provider that fails
      if (provided === undefined || stored === undefined) return { findings: [] };
      if (provided === stored) return { findings: [note(`${stored} dimensions, as the provider's`)] };
      const column = quoteIdentifier(settings.vectorColumn);
      const finding = `The vectors in ${column} have ${stored} dimensions, the provider's ${provided}`;
      const remedy =
        `-- Set embedding_llm to the model that made the vectors, or empty the column and embed anew:
ALTER TABLE ${facts.base?.relation ?? facts.relation} ALTER COLUMN ${column} TYPE ${
          typeName(vector)
        }(${provided}) USING NULL;
server -ingest ${shellWord(pipeline)} FOLDER`;
      return { findings: [error(finding, remedy)] };
    },
  };
}

/** Of a column that takes any number, those of its first vector. */
async function storedDimensions(
  { database, table: { vector, relation, extension } }: TableSubject,
  signal: AbortSignal,
): Promise<number | undefined> {
  // sparse vectors have no function for it; their text ends with it, as in {1:2}/3
  const length = typeName(vector) === "sparsevec"
    ? `split_part(${vector.column}::text, '/', 2)`
    : `${extension.schema}.vector_dims(${vector.column})`;
  const [row] = await readRows(
    database,
    signal,
    `SELECT ${length} FROM ${relation} WHERE ${vector.column} IS NOT NULL LIMIT 1`,
  );
  return row?.[0] ? Number(row[0]) : undefined;
}

function typeName({ type }: VectorColumn): string {
  return type.startsWith("public.") ? type.slice("public.".length) : type;
}
