/** A string of JSON, with the colon that makes it a name; or where an object or a list begins or ends. */
const tokens = /("[^"\\]*(?:\\.[^"\\]*)*")([ \t\n\r]*:)?|[{}[\]]/g;

/**
 * Reads JSON that somebody else wrote, and on which rights hang. It refuses an object that has a name twice, at any depth:
 * parsers differ in which of the two they take, so whoever vouched for the text may have read the other one (RFC 8259
 * section 4, RFC 7519 section 4). Names are compared as they are read, without their escapes.
 *
 * @throws {SyntaxError} whose message may quote the text
 */
export function parseUnambiguous(text: string): unknown {
  const value: unknown = JSON.parse(text);
  const namesOfOpen: (Set<string> | undefined)[] = [];
  for (const [mark, string, colon] of text.matchAll(tokens)) {
    if (mark === "{") namesOfOpen.push(new Set());
    else if (mark === "[") namesOfOpen.push(undefined);
    else if (string === undefined) namesOfOpen.pop();
    else if (colon !== undefined) {
      const name = string.includes("\\") ? String(JSON.parse(string)) : string.slice(1, -1);
      const names = namesOfOpen.at(-1);
      if (names?.has(name)) throw new SyntaxError("an object has a name twice");
      names?.add(name);
    }
  }
  return value;
}
