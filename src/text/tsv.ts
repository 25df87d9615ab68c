const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function field(value: string | null): string {
  return value === null ? "\\N" : value.replace(/[\\\t\n\r]/g, (char) => escapes[char] ?? char);
}

/**
 * Rows as tab-separated values under a header line, in the manner of PostgreSQL's COPY text format: tab, line feed,
 * carriage return and backslash are escaped with a backslash, NULL is `\N`. No line end after the last row.
 */
export function formatTsv(header: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  return [header, ...rows].map((row) => row.map(field).join("\t")).join("\n");
}
