import { estimateNesting, maxNesting } from "./nesting.ts";
import { readTokens } from "./tokens.ts";
import { isRecord, listOf, type SyntaxNode, unwrap } from "./syntax_tree.ts";

/** Longest statement that is parsed, in UTF-16 units; a list of 10,000 seven-digit numbers fits. */
export const maxStatementLength = 100_000;

/** A statement this short cannot nest deep enough to overflow the parser, so its tokens are not counted. */
const alwaysShallowLength = 2_000;

export type ParseOutcome =
  | { readonly ok: true; readonly statements: readonly SyntaxNode[] }
  /** `position` counts characters from 1; `sqlState` is there where PostgreSQL itself would say so. */
  | { readonly ok: false; readonly reason: string; readonly sqlState?: string; readonly position?: number };

/** PostgreSQL's own grammar. */
export interface Parser {
  parse(sql: string): ParseOutcome;
  /** Undefined for what does not parse. */
  fingerprint(sql: string): string | undefined;
}

/** Loads the grammar, which is WebAssembly and lives as long as the process. */
export async function loadParser(): Promise<Parser> {
  const grammar = await import("libpg-query");
  await grammar.loadModule();
  function parse(sql: string): ParseOutcome {
    if (sql.trim() === "") return { ok: true, statements: [] };
    const unreadable = findUnreadable(sql);
    if (unreadable !== undefined) return { ok: false, reason: unreadable };
    if (sql.length > alwaysShallowLength && estimateNesting(readTokens(sql)) > maxNesting) {
      return {
        ok: false,
        reason: "the statement nests too deep; split it with WITH or shorten its chains of operators",
      };
    }
    try {
      const tree: unknown = grammar.parseSync(sql);
      return { ok: true, statements: statementsOf(tree) };
    } catch (error) {
      return grammar.hasSqlDetails(error)
        ? syntaxError(error.message, error.sqlDetails?.cursorPosition)
        : { ok: false, reason: "the statement is too complex to be checked; make it simpler" };
    }
  }
  return {
    parse,
    // parsed first, as only what passes parse() may reach the parser's recursion
    fingerprint: (sql) => parse(sql).ok && sql.trim() !== "" ? grammar.fingerprintSync(sql) : undefined,
  };
}

function findUnreadable(sql: string): string | undefined {
  if (sql.length > maxStatementLength) {
    return `the statement is longer than ${maxStatementLength} characters; shorten it, for example with a subquery in place of a long list`;
  }
  // the parser, written in C, would take a NUL as the end and leave the rest unchecked
  if (sql.includes("\0")) return "the statement holds a NUL character; remove it";
  if (!sql.isWellFormed()) return "the statement holds half of a surrogate pair, which is no text; remove it";
  return undefined;
}

function statementsOf(tree: unknown): SyntaxNode[] {
  const raw = isRecord(tree) ? listOf(tree["stmts"]) : [];
  return raw.flatMap((item) => {
    const statement = isRecord(item) ? unwrap(item["stmt"]) : undefined;
    return statement === undefined ? [] : [statement];
  });
}

function syntaxError(message: string, cursor: number | undefined): ParseOutcome {
  const memory = message.startsWith("memory exhausted");
  return {
    ok: false,
    reason: memory ? "the statement nests too deep; split it with WITH" : message,
    sqlState: memory ? "54001" : "42601",
    ...(cursor === undefined ? {} : { position: cursor + 1 }),
  };
}
