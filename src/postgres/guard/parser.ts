import factory from "libpg-query/wasm/libpg-query.js";
import { openPackedFiles } from "../../core/files/packed_files.ts";
import { estimateNesting, maxCommentDepth, maxComments, maxNesting, readTokens } from "./nesting.ts";
import { isRecord, listOf, type SyntaxNode, unwrap } from "./syntax_tree.ts";

/** Longest statement that is parsed, in UTF-16 units; a list of 10,000 seven-digit numbers fits. */
export const maxStatementLength = 100_000;

/** A statement this short cannot nest deep enough to overflow the parser, so its tokens are not counted. */
const alwaysShallowLength = 2_000;

type ParseResult =
  | { readonly ok: true; readonly statements: readonly SyntaxNode[] }
  /** `position` counts characters from 1; `sqlState` is there where PostgreSQL itself would say so. */
  | { readonly ok: false; readonly reason: string; readonly sqlState?: string; readonly position?: number };

export type Parser = Awaited<ReturnType<typeof loadParser>>;

/** Compiles PostgreSQL's own grammar, which is WebAssembly; threads may share it. */
export async function compileGrammar(): Promise<WebAssembly.Module> {
  using packed = await openPackedFiles();
  const bytes = packed === undefined
    ? await Deno.readFile(new URL("libpg-query.wasm", import.meta.resolve("libpg-query/wasm/libpg-query.js")))
    : await packed.read("libpg-query.wasm");
  return await WebAssembly.compile(bytes);
}

/**
 * @param options.grammar compiled already, which takes some milliseconds
 * @param options.deepest estimate of nesting above which it refuses
 */
export async function loadParser(
  options: { readonly grammar?: WebAssembly.Module | undefined; readonly deepest?: number } = {},
) {
  const { deepest = maxNesting } = options;
  const compiled = options.grammar ?? await compileGrammar();
  let grammar = await loadGrammar(compiled);
  let isReloading = false;

  /** A call that does not return leaves its frame on the stack of the WebAssembly, and some dozens of them break it. */
  async function reload(): Promise<void> {
    if (isReloading) return;
    isReloading = true;
    try {
      grammar = await loadGrammar(compiled);
    } finally {
      isReloading = false;
    }
  }

  function guarded<T>(use: (grammar: Grammar) => T): T | GrammarError | undefined {
    try {
      return use(grammar);
    } catch (error) {
      if (error instanceof GrammarError) return error;
      // if this fails, the next statement uses the old instance, and the next overflow loads again
      reload().catch(() => {});
      return undefined;
    }
  }

  function parse(sql: string): ParseResult {
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
    /** Undefined for what does not parse. */
    fingerprint(sql: string): string | undefined {
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
    return `the statement has more than ${maxComments} comments, or comments nested deeper than ` +
      `${maxCommentDepth}; leave them out`;
  }
  return nesting > deepest
    ? "the statement is nested too deeply; split it with WITH or shorten its chains of operators"
    : undefined;
}

function findUnreadable(sql: string): string | undefined {
  if (sql.length > maxStatementLength) {
    return `the statement is longer than ${maxStatementLength} characters; shorten it, for example with a ` +
      "subquery in place of a long list";
  }
  // the parser, written in C, would take a NUL as the end and leave the rest unchecked
  if (sql.includes("\0")) return "the statement holds a NUL character; remove it";
  if (!sql.isWellFormed()) return "the statement holds half of a surrogate pair; remove it";
  return undefined;
}

function statementsOf(tree: unknown): SyntaxNode[] {
  const raw = isRecord(tree) ? listOf(tree["stmts"]) : [];
  return raw.flatMap((item) => {
    const statement = isRecord(item) ? unwrap(item["stmt"]) : undefined;
    return statement === undefined ? [] : [statement];
  });
}

function syntaxError({ message, position }: GrammarError): ParseResult {
  const memory = message.startsWith("memory exhausted");
  return {
    ok: false,
    reason: memory ? "the statement is nested too deeply; split it with WITH" : message,
    sqlState: memory ? "54001" : "42601",
    position,
  };
}

/** A syntax error from the grammar, in PostgreSQL's words. */
class GrammarError extends Error {
  override readonly name = "GrammarError";
  /** In characters, from 1. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** What libpg-query's WebAssembly exports; numbers are addresses in its memory. */
interface WasmModule {
  lengthBytesUTF8(text: string): number;
  stringToUTF8(text: string, at: number, length: number): void;
  UTF8ToString(at: number): string;
  getValue(at: number, type: "i32"): number;
  _malloc(length: number): number;
  _free(at: number): void;
  _wasm_parse_query_raw(text: number): number;
  _wasm_free_parse_result(result: number): void;
  _wasm_fingerprint(text: number): number;
  _wasm_free_string(text: number): void;
}

type Grammar = Awaited<ReturnType<typeof loadGrammar>>;

interface FactoryOptions {
  print(): void;
  printErr(): void;
  /** Gives the factory an instance in place of one of the package's file. */
  instantiateWasm(imports: WebAssembly.Imports, use: (instance: WebAssembly.Instance) => void): void;
}

/**
 * A fresh instance of the grammar. It has its own memory, which is freed with the instance. The package itself keeps one
 * instance for the whole process, and that one may break.
 */
export async function loadGrammar(compiled: WebAssembly.Module) {
  const create: (options: FactoryOptions) => Promise<WasmModule> = factory;
  const wasm = await new Promise<WasmModule>((resolve, reject) => {
    create({
      print() {},
      printErr() {},
      instantiateWasm: (imports, use) =>
        void WebAssembly.instantiate(compiled, imports).then(use).catch(reject),
    }).then(resolve, reject);
  });

  function withText<T>(text: string, use: (at: number) => T): T {
    const length = wasm.lengthBytesUTF8(text) + 1;
    const at = wasm._malloc(length);
    if (at === 0) throw new RangeError("Cannot parse a statement: the grammar's memory is full");
    wasm.stringToUTF8(text, at, length);
    const result = use(at);
    wasm._free(at);
    return result;
  }

  function readResult(result: number): unknown {
    // PgQueryParseResult: the tree, what went to stderr, the error, as pointers of 4 bytes
    const error = wasm.getValue(result + 8, "i32");
    if (error !== 0) {
      // PgQueryError: message, function, file, line, position
      const message = wasm.UTF8ToString(wasm.getValue(error, "i32"));
      return new GrammarError(message, Math.max(1, wasm.getValue(error + 16, "i32")));
    }
    return JSON.parse(wasm.UTF8ToString(wasm.getValue(result, "i32")));
  }

  return {
    /** The tree of a statement. @throws GrammarError where the grammar refuses it, anything else on overflow */
    parse: (sql: string): unknown =>
      withText(sql, (at) => {
        const result = wasm._wasm_parse_query_raw(at);
        if (result === 0) throw new RangeError("Cannot parse a statement: the grammar's memory is full");
        const tree = readResult(result);
        wasm._wasm_free_parse_result(result);
        if (tree instanceof GrammarError) throw tree;
        return tree;
      }),
    /** Takes what `parse` takes. */
    fingerprint: (sql: string): string =>
      withText(sql, (at) => {
        const result = wasm._wasm_fingerprint(at);
        const text = wasm.UTF8ToString(result);
        wasm._wasm_free_string(result);
        return text;
      }),
  };
}
