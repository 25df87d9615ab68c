const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

const special = /[\\\t\n\r]/;
const everySpecial = /[\\\t\n\r]/g;

function field(value: string | null): string {
  if (value === null) return "\\N";
  // to look first takes a quarter of the time of replacing nothing, and few values have any
  return special.test(value) ? value.replace(everySpecial, (char) => escapes[char] ?? char) : value;
}

function line(values: readonly (string | null)[]): string {
  let text = "";
  for (let index = 0; index < values.length; index++) {
    if (index > 0) text += "\t";
    text += field(values[index] ?? null);
  }
  return text;
}

/**
 * Rows as tab-separated values under a header line, in the manner of PostgreSQL's COPY text format: tab, line feed,
 * carriage return and backslash are escaped with a backslash, NULL is `\N`. No line end after the last row.
 */
export function formatTsv(header: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  let text = line(header);
  for (const row of rows) text += `\n${line(row)}`;
  return text;
}
