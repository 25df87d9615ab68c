import { AppError } from "../../core/app_error.ts";
import { type DataLine, dataLines, lineFault } from "./data_lines.ts";

/** A question whose answers have been judged. */
export interface EvaluationQuery {
  readonly id: string;
  readonly text: string;
}

const headerIds = ["id", "query_id", "query-id", "qid"];

/**
 * Reads questions: lines of JSON as `{"id": "1", "text": "…"}` (`_id` too, as BEIR has it), or of an id, a tab and the
 * text, perhaps below a header.
 *
 * @param file what errors call it
 * @throws {AppError} `invalid`, with the line, for one that is neither or whose id came before; for a file with none
 */
export function parseQueries(text: string, file: string): EvaluationQuery[] {
  const lines = dataLines(text);
  const isJson = lines[0]?.text.trimStart().startsWith("{") ?? false;
  const queries: EvaluationQuery[] = [];
  const seen = new Set<string>();
  lines.forEach((line, index) => {
    const query = isJson ? jsonQuery(line, file) : tabbedQuery(line, file);
    if (!isJson && index === 0 && headerIds.includes(query.id.toLowerCase())) return;
    if (seen.has(query.id)) throw lineFault(file, line, `there is a question "${query.id}" already`);
    seen.add(query.id);
    queries.push(query);
  });
  if (queries.length === 0) throw new AppError("invalid", `Cannot read ${file}: it holds no question`);
  return queries;
}

function jsonQuery(line: DataLine, file: string): EvaluationQuery {
  const value = parseJson(line.text);
  const expected = 'expected {"id": "…", "text": "…"}';
  if (typeof value !== "object" || value === null) throw lineFault(file, line, expected);
  const id = "id" in value ? value.id : "_id" in value ? value._id : undefined;
  const text = "text" in value ? value.text : undefined;
  const hasId = (typeof id === "string" && id !== "") || typeof id === "number";
  if (!hasId || typeof text !== "string" || text.trim() === "") throw lineFault(file, line, expected);
  return { id: String(id), text };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function tabbedQuery(line: DataLine, file: string): EvaluationQuery {
  const [id = "", ...rest] = line.text.split("\t");
  const text = rest.join(" ").trim();
  if (id.trim() === "" || text === "") throw lineFault(file, line, "expected an id, a tab and a question");
  return { id: id.trim(), text };
}
