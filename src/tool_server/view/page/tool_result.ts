import { isObject } from "./host_link.ts";

export interface Column {
  readonly name: string;
  readonly type: string;
}

export type Row = readonly unknown[];

/** Rows as `query_database` gives them. */
export interface ShownRows {
  readonly kind: "rows";
  readonly database: string | undefined;
  readonly sql: string | undefined;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly truncated: boolean;
  readonly nextOffset: number | undefined;
}

export interface Source {
  readonly title: string | undefined;
  readonly id: string | undefined;
  /** Optional: none where it is to be fetched by the id. */
  readonly content: string | undefined;
  readonly score: number | undefined;
}

/** An answer from documents, as `ask_pipeline` gives it. */
export interface ShownAnswer {
  readonly kind: "answer";
  readonly answer: string;
  readonly sources: readonly Source[];
}

type ShownResult = ShownRows | ShownAnswer | {
  readonly kind: "text";
  readonly text: string;
  readonly isError: boolean;
};

/** What the page shows of a tool's result. What does not fit exactly is shown as the text that models read. */
export function readToolResult(result: unknown): ShownResult {
  const { structuredContent: data, isError, content } = isObject(result) ? result : {};
  if (isError !== true && isObject(data)) {
    const shown = readRows(data) ?? readAnswer(data);
    if (shown !== undefined) return shown;
    const { question } = data;
    if (typeof question === "string") return { kind: "text", text: question, isError: false };
  }
  const texts = Array.isArray(content)
    ? content.flatMap((part: unknown) =>
      isObject(part) && part["type"] === "text" && typeof part["text"] === "string" ? [part["text"]] : []
    )
    : [];
  return { kind: "text", text: texts.join("\n\n"), isError: isError === true };
}

function readRows(data: Readonly<Record<string, unknown>>): ShownRows | undefined {
  const { columns, rows, truncated, next_offset: nextOffset } = data;
  if (!Array.isArray(columns) || !Array.isArray(rows)) return undefined;
  const areColumns = columns.every((column): column is Column =>
    isObject(column) && typeof column["name"] === "string" && typeof column["type"] === "string"
  );
  const areRows = rows.every((row) => Array.isArray(row) && row.length === columns.length);
  if (!areColumns || !areRows) return undefined;
  return {
    kind: "rows",
    database: textOrUndefined(data["database"]),
    sql: textOrUndefined(data["sql"]),
    columns,
    rows,
    truncated: truncated === true,
    nextOffset: Number.isSafeInteger(nextOffset) ? Number(nextOffset) : undefined,
  };
}

function readAnswer({ answer, sources = [] }: Readonly<Record<string, unknown>>): ShownAnswer | undefined {
  if (typeof answer !== "string" || !Array.isArray(sources)) return undefined;
  return {
    kind: "answer",
    answer,
    sources: sources.flatMap((source: unknown) => {
      if (!isObject(source)) return [];
      const { id, title, content, score } = source;
      return [{
        title: textOrUndefined(title),
        id: typeof id === "number" ? String(id) : textOrUndefined(id),
        content: textOrUndefined(content),
        score: typeof score === "number" ? score : undefined,
      }];
    }),
  };
}

/** The text of a document, as `fetch` gives it. */
export function readDocumentText(result: unknown): string | undefined {
  const { structuredContent: data, isError } = isObject(result) ? result : {};
  return isError !== true && isObject(data) ? textOrUndefined(data["text"]) : undefined;
}

function textOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
