import factory from "libpg-query/wasm/libpg-query.js";

/** One instance of PostgreSQL's grammar, with a memory of its own, which goes when the instance does. */
export interface Grammar {
  /** The tree of a statement; throws GrammarError where PostgreSQL's grammar refuses it, anything else on overflow. */
  parse(sql: string): unknown;
  /** Takes what `parse` takes. */
  fingerprint(sql: string): string;
}

/** The grammar's own refusal, in PostgreSQL's words. */
export class GrammarError extends Error {
  override readonly name = "GrammarError";
  /** In characters, from 1. */
  readonly position: number;

  constructor(message: string, position: number) {
    super(message);
    this.position = position;
  }
}

/** What libpg-query's WebAssembly offers of itself; numbers are addresses in its memory. */
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

/** Loads a fresh instance, in some 10 ms. The package itself keeps one for the whole process, which may break. */
export async function loadGrammar(): Promise<Grammar> {
  const create: (options: { print(): void; printErr(): void }) => Promise<WasmModule> = factory;
  const wasm = await create({ print() {}, printErr() {} });

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
    parse: (sql) =>
      withText(sql, (at) => {
        const result = wasm._wasm_parse_query_raw(at);
        if (result === 0) throw new RangeError("Cannot parse a statement: the grammar's memory is full");
        const tree = readResult(result);
        wasm._wasm_free_parse_result(result);
        if (tree instanceof GrammarError) throw tree;
        return tree;
      }),
    fingerprint: (sql) =>
      withText(sql, (at) => {
        const result = wasm._wasm_fingerprint(at);
        const text = wasm.UTF8ToString(result);
        wasm._wasm_free_string(result);
        return text;
      }),
  };
}
