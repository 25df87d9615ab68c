import { type Grammar, GrammarError, loadGrammar } from "./grammar.ts";
import { estimateNesting, maxNesting } from "./nesting.ts";
import { maxCommentDepth, maxComments, readTokens } from "./tokens.ts";
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

/** Loads the grammar, which is WebAssembly. `deepest` is an estimate of nesting, in nodes, above which it refuses. */
export async function loadParser(deepest = maxNesting): Promise<Parser> {
  let grammar = await loadGrammar();
  let isReloading = false;

  /** What does not come back leaves the stack of the WebAssembly where it was, so some dozens of those break it. */
  async function reload(): Promise<void> {
    if (isReloading) return;
    isReloading = true;
    try {
      grammar = await loadGrammar();
    } finally {
      isReloading = false;
    }
  }

  function guarded<T>(use: (grammar: Grammar) => T): T | GrammarError | undefined {
    try {
      return use(grammar);
    } catch (error) {
      if (error instanceof GrammarError) return error;
      // the next statement may still use the old one, and the next overflow loads again where this fails
      reload().catch(() => {});
      return undefined;
    }
  }

  function parse(sql: string): ParseOutcome {
    if (sql.trim() === "") return { ok: true, statements: [] };
    const unreadable = findUnreadable(sql) ?? findTooDeep(sql, deepest);
    if (unreadable !== undefined) return { ok: false, reason: unreadable };
    const tree = guarded((grammar) => grammar.parse(sql));
    if (tree instanceof GrammarError) return syntaxError(tree);
    return tree === undefined
      ? { ok: false, reason: "the statement is too complex to be checked; make it simpler" }
      : { ok: true, statements: statementsOf(tree) };
  }

  return {
    parse,
    fingerprint(sql) {
      // parsed first, as only what passes parse() may reach the parser's recursion
      if (sql.trim() === "" || !parse(sql).ok) return undefined;
      const text = guarded((grammar) => grammar.fingerprint(sql));
      return typeof text === "string" ? text : undefined;
    },
  };
}

function findTooDeep(sql: string, deepest: number): string | undefined {
  if (sql.length <= alwaysShallowLength) return undefined;
  const nesting = estimateNesting(readTokens(sql));
  if (nesting === Infinity) {
    return `the statement has comments nested deeper than ${maxCommentDepth} or more of them than ${maxComments}; leave them out`;
  }
  return nesting > deepest
    ? "the statement nests too deep; split it with WITH or shorten its chains of operators"
    : undefined;
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

function syntaxError({ message, position }: GrammarError): ParseOutcome {
  const memory = message.startsWith("memory exhausted");
  return {
    ok: false,
    reason: memory ? "the statement nests too deep; split it with WITH" : message,
    sqlState: memory ? "54001" : "42601",
    position,
  };
}
