/** A name as a quoted identifier of SQL, whatever is in it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
