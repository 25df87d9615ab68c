import { AppError } from "../../core/app_error.ts";

export interface DataLine {
  readonly text: string;
  /** In the file, from 1. */
  readonly number: number;
}

/** The lines of a text that are not blank. */
export function dataLines(text: string): DataLine[] {
  return text.replace(/^\ufeff/, "").split(/\r?\n/)
    .map((line, index) => ({ text: line, number: index + 1 }))
    .filter(({ text }) => text.trim() !== "");
}

/** What is wrong with a line of a file. */
export function lineFault(file: string, line: DataLine, reason: string): AppError {
  return new AppError("invalid", `Cannot read ${file}: line ${line.number}: ${reason}`);
}
