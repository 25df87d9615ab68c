import { defined } from "../../core/defined.ts";
import { loadParser, type Parser } from "./parser.ts";
import { createPlanBounds } from "./plan_bounds.ts";
import { whyRefused } from "./refused_functions.ts";
import { createNameCollector, type StatementNames, typeNamedByArgument } from "./statement_names.ts";
import {
  integerConstant,
  isRecord,
  listOf,
  nameParts,
  type NotARead,
  type SyntaxNode,
  textOf,
  unwrap,
  visitNodes,
} from "./syntax_tree.ts";
import { stateSchema } from "../own_schema.ts";
import { whyTooLarge } from "./value_size/query_size.ts";

/**
 * Tells reads from everything else by the statement's text alone: it may consist of `permitted_nodes.ts`, and call what
 * `refused_functions.ts` does not name. `function_guard.ts` looks at what its names mean. It works in one go, so a server
 * has it behind `check_scheduler.ts`.
 */
export type StatementGuard = Awaited<ReturnType<typeof createStatementGuard>>;

interface CheckOptions {
  /** The values that come with the statement, for `$1` and on; none where absent. */
  readonly parameters?: { readonly length: number } | undefined;
}

/** Options of EXPLAIN in their order, in lower case; an option without a value is `on`. */
export type ExplainOptions = readonly (readonly [name: string, value: string])[];

/** What refuses a statement. */
type GuardRule =
  | "grammar"
  | "one_statement"
  | "reads_only"
  | "refused_functions"
  | "own_schema"
  | "parameters"
  | "depth"
  | "plan_bounds"
  | "value_size";

export type GuardResult =
  | {
    readonly ok: true;
    readonly kind: "select" | "explain" | "show";
    readonly names: StatementNames;
    /** Longest wait that a `pg_sleep` of the statement asks for, in milliseconds. */
    readonly sleepMs: number;
    /** Those of EXPLAIN; absent of any other statement. */
    readonly explain?: ExplainOptions;
  }
  | {
    readonly ok: false;
    /** For a model: why, and what to do instead. */
    readonly reason: string;
    /** Optional: it was not looked at. */
    readonly rule?: GuardRule;
    /** Where PostgreSQL's own grammar refuses the statement. */
    readonly sqlState?: string;
    /** In characters, from 1. */
    readonly position?: number;
    /** Whether it is a statement, or several, by PostgreSQL's grammar. */
    readonly parses?: true;
  };

interface Refusal {
  readonly rule: GuardRule;
  readonly reason: string;
  /** In bytes of UTF-8, from 0; -1 or absent where it is not known. */
  readonly offset?: unknown;
}

/** Deepest tree, in levels. Recursive code has room for twice as many, even deep in a request's own calls. */
const maxDepth = 500;
const tooDeep = { rule: "depth", reason: "the statement is nested too deeply; split it with WITH" } as const;

/** @param grammar as `compileGrammar` gives it, where it is there already */
export async function createStatementGuard(grammar?: WebAssembly.Module) {
  const parser = await loadParser({ grammar });
  return {
    /** Takes under a millisecond for ordinary statements, a second for the longest, and never throws. */
    check: (sql: string, options: CheckOptions = {}): GuardResult => checkStatement(parser, sql, options),
    /**
     * A short text, the same for statements that differ only in constants and spelling; undefined where the statement does not
     * parse.
     */
    fingerprint: parser.fingerprint,
  };
}

function checkStatement(parser: Parser, sql: string, { parameters }: CheckOptions): GuardResult {
  const parsed = parser.parse(sql);
  if (!parsed.ok) return { ...parsed, rule: "grammar" };
  const result = checkTree(parsed.statements, sql, parameters?.length ?? 0);
  return result.ok ? result : { ...result, parses: true };
}

function checkTree(
  [statement, second]: readonly SyntaxNode[],
  sql: string,
  parameterCount: number,
): GuardResult {
  const rule = "one_statement";
  if (statement === undefined) return { ok: false, rule, reason: "there is no statement; write a SELECT" };
  if (second !== undefined) {
    return { ok: false, rule, reason: "there is more than one statement; send one at a time" };
  }
  const kind = kindOf(statement.type);
  if (kind === undefined) return { ok: false, ...notRead({ type: statement.type }) };
  const names = createNameCollector();
  const bounds = createPlanBounds();
  let refusal: Refusal | undefined;
  let sleepMs = 0;
  const notARead = visitNodes(statement, (node) => {
    names.add(node);
    refusal ??= refusalOf(node) ?? located("plan_bounds", bounds.add(node), node) ??
      located("parameters", whyNoValue(node, parameterCount), node);
    if (node.type === "FuncCall") sleepMs = Math.max(sleepMs, sleepOf(node) ?? 0);
  });
  if (notARead !== undefined) refusal = { ...notRead(notARead), offset: notARead.node.fields["location"] };
  refusal ??= checkSize(statement);
  if (refusal === undefined) {
    const explain = kind === "explain" ? { explain: explainOptions(statement) } : {};
    return { ok: true, kind, names: names.names(), sleepMs, ...explain };
  }
  const position = characterPosition(sql, refusal.offset);
  const { offset: _bytes, ...refused } = refusal;
  return { ok: false, ...refused, ...defined({ position }) };
}

function kindOf(type: string) {
  switch (type) {
    case "SelectStmt":
      return "select";
    case "ExplainStmt":
      return "explain";
    case "VariableShowStmt":
      return "show";
    default:
      return undefined;
  }
}

function located(
  rule: GuardRule,
  reason: string | undefined,
  { fields }: SyntaxNode,
): Refusal | undefined {
  return reason === undefined ? undefined : { rule, reason, offset: fields["location"] };
}

function refusalOf(node: SyntaxNode): Refusal | undefined {
  if (node.depth > maxDepth) return tooDeep;
  const refusedCall = (reason: string | undefined) => located("refused_functions", reason, node);
  const { type, fields } = node;
  switch (type) {
    case "SelectStmt":
    case "ExplainStmt":
    case "VariableShowStmt":
      return checkPlace(node);
    case "FuncCall":
      return refusedCall(
        whyNoCall(nameParts(fields["funcname"]), listOf(fields["args"]).length) ?? whyNoSleep(node) ??
          whyNoNamedType(node),
      );
    case "ColumnRef":
      return refusedCall(whyNoField(nameParts(fields["fields"]).slice(1)));
    case "A_Indirection":
      return refusedCall(whyNoField(nameParts(fields["indirection"])));
    case "RangeVar":
      return textOf(fields["schemaname"]) === stateSchema
        ? located(
          "own_schema",
          `${stateSchema} holds sessions and keys of servers; no caller may read it`,
          node,
        )
        : undefined;
    case "RangeTableFunc":
      return refusedCall(whyNoCall(["xmltable"]));
    case "RangeTableSample":
      return refusedCall(whyNoCall(nameParts(fields["method"])));
    default:
      return undefined;
  }
}

/** EXPLAIN and SHOW stand at the top alone, and what EXPLAIN explains is a query. */
function checkPlace({ type, fields, depth }: SyntaxNode): Refusal | undefined {
  if (type === "SelectStmt") return undefined;
  if (depth > 0) return notRead({ type });
  const explained = type === "ExplainStmt" ? unwrap(fields["query"])?.type : "SelectStmt";
  return explained === "SelectStmt"
    ? undefined
    : { rule: "reads_only", reason: "EXPLAIN is allowed only for a query such as SELECT" };
}

function explainOptions({ fields }: SyntaxNode): ExplainOptions {
  return listOf(fields["options"]).map((item) => {
    const { defname, arg } = unwrap(item)?.fields ?? {};
    const value = unwrap(arg);
    // the parser leaves out a number that is 0
    const { sval, ival = 0, fval } = value?.fields ?? {};
    const text = value === undefined ? "on" : value.type === "Integer" ? String(ival) : textOf(sval ?? fval);
    return [textOf(defname), text.toLowerCase()] as const;
  });
}

function whyNoValue({ type, fields }: SyntaxNode, parameterCount: number): string | undefined {
  if (type !== "ParamRef") return undefined;
  if (parameterCount === 0) return "parameters such as $1 have no value here; write the value itself";
  // the parser leaves out a number that is 0
  const number = Number(fields["number"] ?? 0);
  return number >= 1 && number <= parameterCount
    ? undefined
    : `$${number} has no value here; there are values up to $${parameterCount}`;
}

function whyNoCall(parts: readonly string[], argumentCount?: number): string | undefined {
  const name = parts.at(-1);
  if (name === undefined) return undefined;
  const reason = whyRefused(parts.at(-2), name, argumentCount);
  return reason === undefined ? undefined : `${name}() is not allowed: ${reason}`;
}

/** `(x).f` may be a call of `f(x)`. */
function whyNoField(names: readonly string[]): string | undefined {
  if (names.includes(sleep)) return endlessSleep;
  return names.map((name) => whyNoCall([name])).find((found) => found !== undefined);
}

const sleep = "pg_sleep";
const endlessSleep = "pg_sleep() is not allowed without a plain number of seconds; write pg_sleep(1)";

function whyNoSleep(node: SyntaxNode): string | undefined {
  return sleepOf(node) === undefined ? endlessSleep : undefined;
}

function whyNoNamedType(node: SyntaxNode): string | undefined {
  return typeNamedByArgument(node) === undefined
    ? "the type must be a plain literal here, such as 'integer'"
    : undefined;
}

/** Milliseconds of a `pg_sleep` with a constant, 0 for any other call, undefined where they cannot be told. */
function sleepOf({ fields }: SyntaxNode): number | undefined {
  if (nameParts(fields["funcname"]).at(-1) !== sleep) return 0;
  const constant = unwrap(listOf(fields["args"])[0]);
  if (constant?.type !== "A_Const") return undefined;
  const { fval } = constant.fields;
  const seconds = integerConstant(constant) ?? Number(isRecord(fval) ? textOf(fval["fval"]) : NaN);
  return Number.isNaN(seconds) ? undefined : 1_000 * seconds;
}

function checkSize(statement: SyntaxNode): Refusal | undefined {
  try {
    const reason = whyTooLarge(statement);
    return reason === undefined ? undefined : { rule: "value_size", reason };
  } catch (error) {
    // the engine decides how deep recursion may go, and that depends on the calls above this one
    if (error instanceof RangeError) return tooDeep;
    throw error;
  }
}

/** The parser counts bytes of UTF-8; PostgreSQL's positions, and ours, count characters from 1. */
function characterPosition(sql: string, offset: unknown): number | undefined {
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

/** The SQL names of statements whose node has another name. */
const commands: Readonly<Record<string, string>> = {
  AlterSystemStmt: "ALTER SYSTEM",
  CallStmt: "CALL",
  CheckPointStmt: "CHECKPOINT",
  ClosePortalStmt: "CLOSE",
  ConstraintsSetStmt: "SET CONSTRAINTS",
  CopyStmt: "COPY",
  CreateTableAsStmt: "CREATE TABLE AS",
  DeclareCursorStmt: "DECLARE",
  DiscardStmt: "DISCARD",
  DoStmt: "DO",
  GrantRoleStmt: "GRANT",
  ReindexStmt: "REINDEX",
  RefreshMatViewStmt: "REFRESH MATERIALIZED VIEW",
  TransactionStmt: "a transaction command (BEGIN, COMMIT, ROLLBACK, SAVEPOINT)",
  VacuumStmt: "VACUUM or ANALYZE",
  VariableSetStmt: "SET or RESET",
};

const notRead = (part: Parameters<typeof whyNotARead>[0]) => ({
  rule: "reads_only" as const,
  reason: whyNotARead(part),
});

/** Why a part of a tree is no read, and what to do about it. */
function whyNotARead({ type, field }: Pick<NotARead, "type" | "field">): string {
  if (field === "intoClause") return "SELECT INTO makes a table; leave out INTO and the rows are returned";
  if (field === "lockingClause") return "FOR UPDATE and FOR SHARE lock rows; leave the clause out";
  if (field !== undefined) return `the clause "${field}" of ${type} is not known to be a read; leave it out`;
  if (!type.endsWith("Stmt")) return `the construct ${type} is not known to be a read; write it another way`;
  // InsertStmt is INSERT, AlterTableStmt ALTER TABLE
  const words = type.slice(0, -"Stmt".length).replace(/([a-z])([A-Z])/g, "$1 $2").toUpperCase();
  return `${commands[type] ?? words} is not a read; ` +
    "only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here";
}
