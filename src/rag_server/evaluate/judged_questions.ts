import { AppError } from "../../core/app_error.ts";

/** A question whose answers have been judged. */
export interface JudgedQuestion {
  readonly id: string;
  readonly text: string;
  /** Whether the documents do not answer it. */
  readonly hasNoAnswer?: true;
}

/** How well each judged document answers one question, by id: 0 not at all, higher is better. Others count as 0. */
export type Judgements = ReadonlyMap<string, number>;

/** The judgements of each question, by its id. */
export type Qrels = ReadonlyMap<string, Judgements>;

const headerIds = ["id", "query_id", "query-id", "qid"];

/**
 * Reads questions: lines of JSON as `{"id": "1", "text": "…"}` (`_id` too, as BEIR has it; with `"answerable": false` for
 * one that the documents do not answer), or of an id, a tab and the text, perhaps below a header.
 *
 * @param file what errors call it
 * @throws {AppError} `invalid`, with the line, for one that is neither or whose id came before; for a file with none
 */
export function parseQueries(text: string, file: string): JudgedQuestion[] {
  const lines = dataLines(text);
  const isJson = lines[0]?.text.trimStart().startsWith("{") ?? false;
  const queries = new Map<string, JudgedQuestion>();
  lines.forEach((line, index) => {
    const query = isJson ? jsonQuery(line, file) : tabbedQuery(line, file);
    if (!isJson && index === 0 && headerIds.includes(query.id.toLowerCase())) return;
    if (queries.has(query.id)) throw lineFault(file, line, `there is a question "${query.id}" already`);
    queries.set(query.id, query);
  });
  if (queries.size === 0) throw new AppError("invalid", `Cannot read ${file}: it has no question`);
  return [...queries.values()];
}

function jsonQuery(line: DataLine, file: string): JudgedQuestion {
  const fault = () => lineFault(file, line, 'expected {"id": "…", "text": "…"}');
  let value: unknown;
  try {
    value = JSON.parse(line.text);
  } catch {
    throw fault();
  }
  if (typeof value !== "object" || value === null) throw fault();
  const id = "id" in value ? value.id : "_id" in value ? value._id : undefined;
  const text = "text" in value ? value.text : undefined;
  const hasId = (typeof id === "string" && id !== "") || typeof id === "number";
  if (!hasId || typeof text !== "string" || text.trim() === "") throw fault();
  const hasNoAnswer = "answerable" in value && value.answerable === false;
  return { id: String(id), text, ...(hasNoAnswer && { hasNoAnswer }) };
}

function tabbedQuery(line: DataLine, file: string): JudgedQuestion {
  const [id = "", ...rest] = line.text.split("\t");
  const text = rest.join(" ").trim();
  if (id.trim() === "" || text === "") throw lineFault(file, line, "expected an id, a tab and a question");
  return { id: id.trim(), text };
}

/**
 * Reads judgements: lines of a question's id, a document's and the gain, with tabs between, perhaps below a header; or
 * TREC's four columns, separated by blanks; the second is ignored.
 *
 * @param file what errors call it
 * @throws {AppError} `invalid`, with the line, for one that is neither or contradicts an earlier one; for a file
 * with none
 */
export function parseQrels(text: string, file: string): Qrels {
  const qrels = new Map<string, Map<string, number>>();
  dataLines(text).forEach((line, index) => {
    const columns = columnsOf(line);
    const [query = ""] = columns;
    const [document = "", gainText = ""] = columns.slice(-2);
    const hasColumns = columns.length >= 3 && columns.length <= 4 && !columns.includes("");
    if (!hasColumns || !/^-?\d+(\.\d+)?$/.test(gainText)) {
      const isHeader = columns.length >= 3 && columns.every((column) => /^[a-z_-]+$/i.test(column));
      if (index === 0 && isHeader) return;
      throw lineFault(file, line, "expected a question's id, a document's id and a gain");
    }
    const gain = Number(gainText);
    const gains = qrels.get(query) ?? new Map<string, number>();
    if ((gains.get(document) ?? gain) !== gain) {
      throw lineFault(
        file,
        line,
        `document "${document}" of question "${query}" has another gain on an earlier line`,
      );
    }
    qrels.set(query, gains.set(document, gain));
  });
  if (qrels.size === 0) throw new AppError("invalid", `Cannot read ${file}: it has no judgement`);
  return qrels;
}

// an id of a tabbed file may hold blanks
function columnsOf({ text }: DataLine): string[] {
  return text.trim().split(text.includes("\t") ? "\t" : /\s+/).map((column) => column.trim());
}

interface DataLine {
  readonly text: string;
  /** In the file, from 1. */
  readonly number: number;
}

/** The lines of a text that are not blank. */
function dataLines(text: string): DataLine[] {
  return text.replace(/^\ufeff/, "").split(/\r?\n/)
    .map((line, index) => ({ text: line, number: index + 1 }))
    .filter(({ text }) => text.trim() !== "");
}

/** The error of a line of a file. */
function lineFault(file: string, line: DataLine, reason: string): AppError {
  return new AppError("invalid", `Cannot read ${file}: line ${line.number}: ${reason}`);
}
