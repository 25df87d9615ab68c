import { findGrowth } from "./growth.ts";
import { loadParser, type Parser } from "./parser.ts";
import { whyRefused } from "./refused_functions.ts";
import { createPlanBounds } from "./plan_bounds.ts";
import { describeForeignPart } from "./statement_faults.ts";
import { createNameCollector, type StatementNames, typeNamedByArgument } from "./statement_names.ts";
import { isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap, visitNodes } from "./syntax_tree.ts";

export type { StatementName, StatementNames } from "./statement_names.ts";

/**
 * Tells reads from everything else by the statement's text alone; `object_guard.ts` looks at what its names mean. It works
 * in one go, so a server has it behind `statement_checks.ts`.
 */
export interface StatementGuard {
  /** Takes under a millisecond for ordinary statements, a second for the longest, and never throws. */
  check(sql: string): GuardVerdict;
  /**
   * A short text that is equal for statements that differ in constants and spelling alone; undefined for what does not
   * parse.
   */
  fingerprint(sql: string): string | undefined;
}

export type StatementKind = "select" | "explain" | "show";

export type GuardVerdict =
  | {
    readonly ok: true;
    readonly kind: StatementKind;
    readonly names: StatementNames;
    /** Longest wait that a `pg_sleep` of the statement asks for, in milliseconds. */
    readonly sleepMs: number;
  }
  | {
    readonly ok: false;
    /** For a model: why, and what to do instead. */
    readonly reason: string;
    /** Where PostgreSQL's own grammar refuses the statement. */
    readonly sqlState?: string;
    /** In characters, from 1. */
    readonly position?: number;
    /** Whether it is a statement, or several, by PostgreSQL's grammar. */
    readonly parses?: true;
  };

interface Fault {
  readonly reason: string;
  /** In bytes of UTF-8, from 0; -1 or absent where it is not known. */
  readonly offset?: unknown;
}

const kinds: Readonly<Record<string, StatementKind>> = {
  SelectStmt: "select",
  ExplainStmt: "explain",
  VariableShowStmt: "show",
};

/** Levels of the tree: what works on it by recursion has room for twice as many, deep in a request's own calls. */
const maxDepth = 500;
const tooDeep = "the statement nests too deep; split it with WITH";

/** Loads PostgreSQL's grammar, which takes some milliseconds. */
export async function createStatementGuard(): Promise<StatementGuard> {
  const parser = await loadParser();
  return { check: (sql) => checkStatement(parser, sql), fingerprint: parser.fingerprint };
}

function checkStatement(parser: Parser, sql: string): GuardVerdict {
  const parsed = parser.parse(sql);
  if (!parsed.ok) return parsed;
  const verdict = checkTree(parsed.statements, sql);
  return verdict.ok ? verdict : { ...verdict, parses: true };
}

function checkTree([statement, second]: readonly SyntaxNode[], sql: string): GuardVerdict {
  if (statement === undefined) return { ok: false, reason: "there is no statement; write a SELECT" };
  if (second !== undefined) {
    return { ok: false, reason: "there is more than one statement; send one at a time" };
  }
  const kind = kinds[statement.type];
  if (kind === undefined) {
    return { ok: false, reason: describeForeignPart({ type: statement.type, node: statement }) };
  }
  const names = createNameCollector();
  const bounds = createPlanBounds();
  let fault: Fault | undefined;
  let sleepMs = 0;
  const foreign = visitNodes(statement, (node) => {
    names.add(node);
    fault ??= findFault(node) ?? faultOf(bounds.add(node), node);
    if (node.type === "FuncCall") sleepMs = Math.max(sleepMs, sleepOf(node) ?? 0);
  });
  if (foreign !== undefined) {
    fault = { reason: describeForeignPart(foreign), offset: foreign.node.fields["location"] };
  }
  fault ??= describeGrowth(statement);
  if (fault === undefined) return { ok: true, kind, names: names.names(), sleepMs };
  const position = characterPosition(sql, fault.offset);
  return { ok: false, reason: fault.reason, ...(position === undefined ? {} : { position }) };
}

function faultOf(reason: string | undefined, { fields }: SyntaxNode): Fault | undefined {
  return reason === undefined ? undefined : { reason, offset: fields["location"] };
}

function findFault(node: SyntaxNode): Fault | undefined {
  if (node.depth > maxDepth) return { reason: tooDeep };
  const { type, fields } = node;
  const offset = fields["location"];
  switch (type) {
    case "SelectStmt":
    case "ExplainStmt":
    case "VariableShowStmt":
      return findMisplaced(node);
    case "FuncCall": {
      const parts = nameParts(fields["funcname"]);
      return refusal(parts, offset, listOf(fields["args"]).length) ?? checkSleep(node) ??
        checkNamedType(node);
    }
    case "ColumnRef":
      return refusedField(nameParts(fields["fields"]).slice(1), offset);
    case "A_Indirection":
      return refusedField(nameParts(fields["indirection"]), offset);
    case "RangeTableFunc":
      return refusal(["xmltable"], offset);
    case "RangeTableSample":
      return refusal(nameParts(fields["method"]), offset);
    default:
      return undefined;
  }
}

/** EXPLAIN and SHOW stand at the top alone, and what EXPLAIN explains is a query. */
function findMisplaced({ type, fields, depth }: SyntaxNode): Fault | undefined {
  if (type === "SelectStmt") return undefined;
  if (depth > 0) return { reason: describeForeignPart({ type, node: { type: "", fields, depth } }) };
  const explained = type === "ExplainStmt" ? unwrap(fields["query"])?.type : "SelectStmt";
  return explained === "SelectStmt" ? undefined : { reason: "EXPLAIN takes a query here, nothing else" };
}

function refusal(parts: readonly string[], offset: unknown, argumentCount?: number): Fault | undefined {
  const name = parts.at(-1);
  if (name === undefined) return undefined;
  const reason = whyRefused(parts.at(-2), name, argumentCount);
  return reason === undefined ? undefined : { reason: `${name}() is not allowed: ${reason}`, offset };
}

/** `(x).f` may be a call of `f(x)`. */
function refusedField(names: readonly string[], offset: unknown): Fault | undefined {
  if (names.includes(sleep)) return { reason: endlessSleep, offset };
  return names.map((name) => refusal([name], offset)).find((found) => found);
}

const sleep = "pg_sleep";
const endlessSleep = "pg_sleep() is not allowed without a plain number of seconds; write pg_sleep(1)";

function checkSleep(node: SyntaxNode): Fault | undefined {
  return sleepOf(node) !== undefined ? undefined : { reason: endlessSleep, offset: node.fields["location"] };
}

function checkNamedType(node: SyntaxNode): Fault | undefined {
  return typeNamedByArgument(node) !== undefined ? undefined : {
    reason: "the type must be a plain literal here, such as 'integer'",
    offset: node.fields["location"],
  };
}

/** Milliseconds of a `pg_sleep` with a constant, 0 for any other call, undefined where they cannot be told. */
function sleepOf({ fields }: SyntaxNode): number | undefined {
  if (nameParts(fields["funcname"]).at(-1) !== sleep) return 0;
  const constant = unwrap(listOf(fields["args"])[0]);
  if (constant?.type !== "A_Const") return undefined;
  const { ival, fval } = constant.fields;
  if (isRecord(ival)) return 1_000 * Number(ival["ival"] ?? 0);
  if (!isRecord(fval)) return undefined;
  const seconds = Number(textOf(fval["fval"]));
  return Number.isNaN(seconds) ? undefined : 1_000 * seconds;
}

function describeGrowth(statement: SyntaxNode): Fault | undefined {
  try {
    const reason = findGrowth(statement);
    return reason === undefined ? undefined : { reason };
  } catch (error) {
    // how deep recursion may go is the engine's choice, and depends on what has called this
    if (error instanceof RangeError) return { reason: tooDeep };
    throw error;
  }
}

/** The parser counts bytes of UTF-8; PostgreSQL's positions, and ours, count characters from 1. */
export function characterPosition(sql: string, offset: unknown): number | undefined {
  if (typeof offset !== "number" || offset < 0) return undefined;
  let bytes = 0;
  let position = 1;
  for (const char of sql) {
    if (bytes >= offset) break;
    const code = char.codePointAt(0) ?? 0;
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    position++;
  }
  return position;
}
