/**
 * Lines of a table with its columns aligned, for a terminal: the header in capitals, two spaces between columns, none
 * at a line's end. Characters that steer a terminal are made visible.
 */
export function tableLines(headers: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const table = [headers.map((header) => header.toUpperCase()), ...rows.map((row) => row.map(visible))];
  const widths = headers.map((_, column) => Math.max(...table.map((row) => displayWidth(row[column] ?? ""))));
  return table.map((row) =>
    widths.map((width, column) => padded(row[column] ?? "", width)).join("  ").trimEnd()
  );
}

/** Lines of names and values, the values aligned. */
export function fieldLines(fields: readonly (readonly [name: string, value: string])[]): string[] {
  const width = Math.max(0, ...fields.map(([name]) => displayWidth(name)));
  return fields.map(([name, value]) => `${padded(name, width)}  ${visible(value)}`.trimEnd());
}

/** A text with control characters, line ends and changes of direction escaped, so that it stays on its line. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

function padded(text: string, width: number): string {
  return text + " ".repeat(width - displayWidth(text));
}

const graphemes = new Intl.Segmenter();
const wide =
  /^(?:\p{Script=Han}|\p{Script=Hiragana}|\p{Script=Katakana}|\p{Script=Hangul}|\p{Emoji_Presentation})/u;

function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}
