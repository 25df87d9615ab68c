import { AppError } from "../../core/app_error.ts";
import { type DataLine, dataLines, lineFault } from "./data_lines.ts";

/** For each question's id, the gain of each judged document by its id. */
export type Qrels = ReadonlyMap<string, ReadonlyMap<string, number>>;

interface Judgement {
  readonly query: string;
  readonly document: string;
  readonly gain: number;
}

/**
 * Reads judgements: lines of a question's id, a document's and the gain, with tabs between, perhaps below a header; or
 * TREC's four columns, of which the second says nothing, with blanks between.
 *
 * @param file what errors call it
 * @throws {AppError} `invalid`, with the line, for one that is neither or contradicts an earlier one; for a file with none
 */
export function parseQrels(text: string, file: string): Qrels {
  const qrels = new Map<string, Map<string, number>>();
  dataLines(text).forEach((line, index) => {
    const judgement = judgementOf(line);
    if (judgement === undefined) {
      if (index === 0 && isHeader(line)) return;
      throw lineFault(file, line, "expected a question's id, a document's id and a gain");
    }
    const { query, document, gain } = judgement;
    const gains = qrels.get(query) ?? new Map<string, number>();
    if ((gains.get(document) ?? gain) !== gain) {
      throw lineFault(file, line, `document "${document}" of question "${query}" had another gain before`);
    }
    qrels.set(query, gains.set(document, gain));
  });
  if (qrels.size === 0) throw new AppError("invalid", `Cannot read ${file}: it holds no judgement`);
  return qrels;
}

function judgementOf(line: DataLine): Judgement | undefined {
  const columns = columnsOf(line);
  if (columns.length < 3 || columns.length > 4 || columns.includes("")) return undefined;
  const [query = ""] = columns;
  const [document = "", gain = ""] = columns.slice(-2);
  return /^-?\d+(\.\d+)?$/.test(gain) ? { query, document, gain: Number(gain) } : undefined;
}

function isHeader(line: DataLine): boolean {
  const columns = columnsOf(line);
  return columns.length >= 3 && columns.every((column) => /^[a-z_-]+$/i.test(column));
}

// an id of a tabbed file may hold blanks
function columnsOf({ text }: DataLine): string[] {
  return text.trim().split(text.includes("\t") ? "\t" : /\s+/).map((column) => column.trim());
}
