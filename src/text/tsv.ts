const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

function field(value: string | null): string {
  if (value === null) return "\\N";
  return isPlain(value) ? value : value.replace(/[\\\t\n\r]/g, (char) => escapes[char] ?? char);
}

const backslash = 0x5c;
const lastControl = 0x1f;

// several times as quick as a search for what to escape, which few values have
function isPlain(value: string): boolean {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (code === backslash || code <= lastControl) return false;
  }
  return true;
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
