/** A part of a text, in UTF-16 units. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/**
 * The word of `text` that a statement's error points at. Undefined where the error names no place, or one in another
 * statement, such as one that a model wrote.
 */
export function errorPosition(error: string, text: string): Span | undefined {
  const found = /^Position: line (\d+), character (\d+)\n {2}(.*)$/m.exec(error);
  const [, line = "", character = "", excerpt = ""] = found ?? [];
  // the server leaves out the blanks around a request
  const lines = text.trim().split("\n");
  const row = lines[Number(line) - 1];
  if (row === undefined || !row.replaceAll("\t", " ").includes(excerpt)) return undefined;
  const before = [...row].slice(0, Number(character) - 1).join("").length;
  const from = lines.slice(0, Number(line) - 1).reduce(
    (sum, { length }) => sum + length + 1,
    text.length - text.trimStart().length + before,
  );
  const [word = ""] = /^(?:[\p{L}\p{N}_$]+|.)/u.exec(row.slice(before)) ?? [];
  // at the end there is no word: the character before it stands for the place
  return word === "" ? { from: Math.max(0, from - 1), to: from } : { from, to: from + word.length };
}
