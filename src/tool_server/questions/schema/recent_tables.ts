import type { SchemaIndex } from "./schema_index.ts";

const longestRead = 20_000;
const mostStatements = 5;
const name = String.raw`(?:"[^"\n]{1,128}"|[\p{L}_][\p{L}\p{N}_$]*)`;
const afterFrom = new RegExp(String.raw`\b(?:from|join)\s+(?:only\s+)?(${name}(?:\.${name})?)`, "giu");

/**
 * The tables that a caller's last statements read, each with how much that says about a request that follows: 1 for
 * the last statement, half as much for each one before it.
 */
export function recentTables(index: SchemaIndex, statements: readonly string[]): Map<number, number> {
  const found = new Map<number, number>();
  let weight = 1;
  for (const statement of statements.slice(-mostStatements).reverse()) {
    for (const [, written = ""] of statement.slice(0, longestRead).matchAll(afterFrom)) {
      const tables = index.byName.get(written.replaceAll('"', "").toLowerCase()) ?? [];
      for (const table of tables) if (!found.has(table)) found.set(table, weight);
    }
    weight /= 2;
  }
  return found;
}
