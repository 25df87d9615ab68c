import {
  childrenOf,
  integerConstant,
  isRecord,
  listOf,
  nameParts,
  type SyntaxNode,
  textConstant,
  textOf,
  unwrap,
} from "../syntax_tree.ts";
import { type Argument, maxValueSize, shapeOfCall, sizeOfJsonPath } from "./call_size.ts";
import type { Query, Scope } from "./column_scope.ts";
import { createJoin } from "./recursive_rounds.ts";
import { whySlow, whySlowPath } from "./slow_functions.ts";
import {
  arithmetic,
  constantShape,
  eitherOf,
  elementOfLength,
  listOfLength,
  littleOf,
  madeOf,
  nothing,
  parameter,
  type Refuse,
  type Shape,
  tableColumn,
  timesHeld,
  wholeLength,
} from "./value_shape.ts";

type Fields = SyntaxNode["fields"];

/** All that the planner may work out on the way, in characters; and one value that is made of stored ones. */
const maxTotalSize = 1_048_576;

const tooLong =
  `the statement makes a value longer than ${maxValueSize} characters before any row is read; repeat or pad less`;
const tooMuch =
  "the statement makes a value longer than a megabyte, whatever the tables hold; use each of its parts once";

/** Operators that make a truth or a number of what they are given. */
const tests = new Set(
  "= <> != < > <= >= ~~ !~~ ~~* !~~* ~ !~ ~* !~* @> <@ && ? ?| ?& @@ @? ^@ % <-> <=> <#> <+>".split(" "),
);

/** Types of few characters, whatever is cast to them. */
const littleTypes =
  /^(bool|int[248]|float[48]|numeric|date|time|timetz|timestamp|timestamptz|interval|uuid|name|oid|regclass|money)$/;
/** Types that a value is cast to without getting longer than it is written. */
const textTypes =
  /^(text|varchar|bpchar|char|name|citext|json|jsonb|xml|bool|int[248]|numeric|uuid|bit|varbit)$/;

/** Columns of the catalogs, and functions, that return a hundred kilobytes in every database. */
const longTexts = /^(ev_action|ev_qual|prosrc|prosqlbody|current_query|pg_get_viewdef|pg_get_functiondef)$/;

/** What it returns gives the shape of an expression, or of a list of them. */
export function createExpressionMeter(
  { refuse, isRefused, spend, measureQuery }: {
    readonly refuse: Refuse;
    readonly isRefused: () => boolean;
    /** Counts what measuring itself takes. */
    readonly spend: (steps: number) => void;
    /** `nodes` are of all that stands in the query, which are copied wherever the value is. */
    readonly measureQuery: (select: Fields, scope: Scope) => Query & { readonly nodes: number };
  },
): (expression: unknown, scope: Scope) => Shape {
  let totalSize = 0;
  /** What the statement itself spells out, which a value may hold beside what it makes. */
  let spelledSize = 0;
  const joinOperands = createJoin();

  function measure(value: unknown, scope: Scope): Shape {
    if (isRefused()) return tableColumn;
    if (Array.isArray(value)) return value.length === 0 ? nothing : madeOf(measureAll(value, scope));
    const node = unwrap(value);
    if (node === undefined) return nothing;
    const shape = measureNode(node, scope);
    spend(1 + (shape.holds?.size ?? 0));
    const mostInAll = maxTotalSize + 32 * spelledSize;
    if (shape.data) return shape.size > mostInAll ? refuse(tooMuch) : shape;
    totalSize += shape.size;
    return shape.size > maxValueSize + 2 * spelledSize || totalSize > mostInAll ? refuse(tooLong) : shape;
  }

  function measureAll(values: unknown, scope: Scope): Shape[] {
    return listOf(values).map((value) => measure(value, scope));
  }

  function measureNode({ type, fields }: SyntaxNode, scope: Scope): Shape {
    switch (type) {
      case "A_Const":
        return measureConstant(fields);
      case "ParamRef":
        return parameter;
      case "ColumnRef":
        return measureColumn(nameParts(fields["fields"]), scope);
      case "A_Expr":
        return measureOperator(fields, scope);
      case "TypeCast":
        return measureCast(fields, scope);
      case "FuncCall":
        return measureCall(fields, scope);
      case "CaseExpr":
        return measureCase(fields, scope);
      case "CoalesceExpr":
        return oneOf(measureAll(fields["args"], scope));
      case "MinMaxExpr":
        return measureMinMax(fields, scope);
      case "A_ArrayExpr":
        return measureArray(fields, scope);
      case "RowExpr":
        return madeOf(measureAll(fields["args"], scope), 1.8);
      case "SubLink":
        return measureSubquery(fields, scope);
      case "A_Indirection":
        return measureIndirection(fields, scope);
      case "BoolExpr":
      case "NullTest":
      case "BooleanTest":
      case "JsonIsPredicate":
        return littleOf(measureAll(childrenOf(type, fields), scope));
      case "JsonArrayAgg":
      case "JsonObjectAgg":
      case "JsonArrayQueryConstructor":
        return { ...madeOf(measureAll(childrenOf(type, fields), scope)), data: true, length: "long" };
      case "JsonTablePathSpec":
        return measureTablePath(fields);
      case "SQLValueFunction":
        return tableColumn;
      case "SelectStmt": {
        const { columns, nodes } = measureQuery(fields, scope);
        return { ...eitherOf(columns.map((column) => column.shape)), nodes };
      }
      case "XmlExpr":
      case "XmlSerialize": {
        const shape = madeOf(measureAll(childrenOf(type, fields), scope), 5);
        if (readsXml(fields)) refuse(whySlow("xml", [shape]));
        return shape;
      }
      case "JsonFuncExpr":
        return measureJsonPath(measureAll(childrenOf(type, fields), scope), fields);
      default:
        return madeOf(measureAll(childrenOf(type, fields), scope));
    }
  }

  function measureColumn(parts: readonly string[], scope: Scope): Shape {
    const shape = scope.find(parts);
    return longTexts.test(parts.at(-1) ?? "") ? { ...shape, length: "long" } : shape;
  }

  function measureArray(fields: Fields, scope: Scope): Shape {
    const elements = measureAll(fields["elements"], scope);
    return { ...madeOf(elements, 1.8), bound: eitherOf(elements).bound };
  }

  function measureSubquery(fields: Fields, scope: Scope): Shape {
    const select = unwrap(fields["subselect"])?.fields ?? {};
    const query = measureQuery(select, scope);
    const columns = query.columns.map((column) => column.shape);
    const value = columns[0] ?? tableColumn;
    const test = measure(fields["testexpr"], scope);
    const kind = textOf(fields["subLinkType"]);
    refuse(whySlow(nameParts(fields["operName"]).at(-1) ?? "=", [test, eitherOf(columns)]));
    // it runs apart from the planner, but a number in it counts all the same
    const nodes = query.nodes + test.nodes + 1;
    const made = { ...madeOf([value, test]), nodes, data: true, bound: value.bound };
    if (kind === "EXPR_SUBLINK") return { ...made, length: value.length };
    if (kind !== "ARRAY_SUBLINK") return { ...littleOf([value, test]), nodes, data: true };
    const isShort = select["distinctClause"] !== undefined && query.readsTable;
    return timesHeld({ ...made, length: isShort ? value.length : listOfLength(value.length) }, 2);
  }

  function measureIndirection(fields: Fields, scope: Scope): Shape {
    const steps = listOf(fields["indirection"]).map((step) => unwrap(step));
    const [table, second] = nameParts(unwrap(fields["arg"])?.fields["fields"]);
    const [field] = nameParts(fields["indirection"]);
    if (table !== undefined && second === undefined && steps[0]?.type === "String" && field !== undefined) {
      return scope.find([table, field]);
    }
    const shape = madeOf(measureAll(childrenOf("A_Indirection", fields), scope));
    // one slice among them makes slices of all
    const isElement = steps.every((step) => step?.type === "A_Indices" && step.fields["is_slice"] !== true);
    return isElement ? { ...shape, length: elementOfLength(shape.length) } : shape;
  }

  function measureConstant(fields: Fields): Shape {
    const shape = constantShape(fields);
    spelledSize += shape.size;
    return shape;
  }

  function measureJsonPath(shapes: readonly Shape[], fields: Fields): Shape {
    const path = textConstant(unwrap(fields["pathspec"]));
    refuse(whySlowPath(shapes[0], path));
    const made = madeOf(shapes, 2);
    return made.data ? made : { ...made, size: sizeOfJsonPath(made.size, path) };
  }

  function measureTablePath(fields: Fields): Shape {
    refuse(whySlowPath({ ...tableColumn, length: "long" }, textConstant(uncast(fields["string"]))));
    return nothing;
  }

  function measureOperator(fields: Fields, scope: Scope): Shape {
    const left = fields["lexpr"] === undefined ? undefined : measure(fields["lexpr"], scope);
    const right = measure(fields["rexpr"], scope);
    const name = nameParts(fields["name"]).at(-1) ?? "=";
    const operands = left === undefined ? [right] : [left, right];
    const path = textConstant(uncast(fields["rexpr"]));
    // what is not a literal beside @@ may well be a query of text search
    const isPath = name === "@?" || name === "@@" && path !== undefined;
    refuse(whySlow(name, operands) ?? (isPath ? whySlowPath(left, path) : undefined));
    switch (textOf(fields["kind"])) {
      case "AEXPR_OP":
        if (name === "||" && left !== undefined) {
          return joinOperands(fields, [fields["lexpr"], fields["rexpr"]], [left, right]);
        }
        return arithmetic(name, left, right, unwrap(fields["rexpr"])?.type === "A_Const") ??
          (tests.has(name) ? littleOf(operands) : madeOf(operands));
      case "AEXPR_NULLIF":
        return left ?? tableColumn;
      default:
        return littleOf(operands);
    }
  }

  function measureCast(fields: Fields, scope: Scope): Shape {
    const shape = measure(fields["arg"], scope);
    const type = isRecord(fields["typeName"]) ? fields["typeName"] : {};
    const typeName = nameParts(type["names"]).at(-1) ?? "";
    // these types fill a value up to the width that is given with them
    const isPadded = /^(bpchar|char|bit|numeric)$/.test(typeName);
    const widths = isPadded ? measureAll(type["typmods"], scope).map((width) => width.bound) : [];
    if (typeName === "tsquery" || typeName === "xml") refuse(whySlow(typeName, [shape]));
    const isArray = listOf(type["arrayBounds"]).length > 0;
    const isLittle = littleTypes.test(typeName) && !isArray;
    const escaped = timesEscaped(typeName, unwrap(fields["arg"]));
    return timesHeld({
      ...shape,
      holds: isLittle ? undefined : shape.holds,
      nodes: shape.nodes + 1,
      size: Math.max(
        typeName === "bytea" ? 2 * shape.size : shape.size,
        textTypes.test(typeName) || typeName === "bytea" ? 0 : tableColumn.size,
        ...widths,
      ),
      length: isLittle ? "short" : isArray ? shape.length : wholeLength(shape.length),
    }, escaped);
  }

  function measureCase(fields: Fields, scope: Scope): Shape {
    const branches = listOf(fields["args"]).map((branch) => unwrap(branch)?.fields ?? {});
    const results = [...branches.map((branch) => branch["result"]), fields["defresult"]];
    const tests = [fields["arg"], ...branches.map((branch) => branch["expr"])];
    const value = oneOf(measureAll(results, scope));
    return { ...value, nodes: value.nodes + sum(measureAll(tests, scope).map((test) => test.nodes)) };
  }

  function measureMinMax(fields: Fields, scope: Scope): Shape {
    const shapes = measureAll(fields["args"], scope);
    const caps = fields["op"] === "IS_LEAST" ? shapes.filter((shape) => !shape.data) : [];
    const value = oneOf(shapes);
    return caps.length === 0
      ? value
      : { ...value, data: false, bound: Math.min(...caps.map((cap) => cap.bound)) };
  }

  function measureCall(fields: Fields, scope: Scope): Shape {
    const name = nameParts(fields["funcname"]).at(-1) ?? "";
    // what an aggregate has WITHIN GROUP is given to it too
    const isWithin = fields["agg_within_group"] === true;
    const given = [...listOf(fields["args"]), ...(isWithin ? listOf(fields["agg_order"]) : [])];
    const args = given.map((arg) => measureArgument(arg, name === "array_fill", scope));
    const aside = measureAll([isWithin ? undefined : fields["agg_order"], fields["agg_filter"]], scope);
    const over = isRecord(fields["over"]) ? measure(childrenOf("WindowDef", fields["over"]), scope) : nothing;
    const isShort = fields["agg_distinct"] === true && scope.readsTable;
    const called = shapeOfCall(name, args, isShort, refuse);
    const shape: Shape = {
      ...called,
      nodes: called.nodes + over.nodes + sum(aside.map((part) => part.nodes)),
      length: longTexts.test(name) ? "long" : called.length,
    };
    const isOverRows = fields["over"] !== undefined || fields["agg_star"] === true;
    return isOverRows ? { ...shape, data: true, bound: 0 } : shape;
  }

  function measureArgument(value: unknown, isCount: boolean, scope: Scope): Argument {
    const node = uncast(value);
    return {
      shape: measure(value, scope),
      literal: textConstant(node),
      count: integerConstant(node),
      elements: isCount && node?.type === "A_ArrayExpr"
        ? measureAll(node.fields["elements"], scope)
        : undefined,
    };
  }

  return measure;
}

/** Whether an expression of XML reads its text: XMLPARSE, IS DOCUMENT, and XMLSERIALIZE of a document or with INDENT. */
function readsXml(fields: Fields): boolean {
  return ["IS_XMLPARSE", "IS_DOCUMENT"].includes(textOf(fields["op"])) || fields["indent"] === true ||
    fields["op"] === undefined && textOf(fields["xmloption"]) === "XMLOPTION_DOCUMENT";
}

/** One of the values, with the nodes of all. */
function oneOf(shapes: readonly Shape[]): Shape {
  return { ...eitherOf(shapes), nodes: 1 + sum(shapes.map((shape) => shape.nodes)) };
}

/** A value inside of others is escaped where all become text, and so again in each round of a recursive query. */
function timesEscaped(typeName: string, arg: SyntaxNode | undefined): number {
  if (typeName === "bytea") return 2;
  const isText = /^(text|varchar|bpchar)$/.test(typeName);
  const isMade = arg?.type === "RowExpr" || arg?.type === "A_ArrayExpr" || arg?.type === "FuncCall" &&
      /json/.test(nameParts(arg.fields["funcname"]).at(-1) ?? "");
  return isText && isMade ? 2 : 1;
}

/** What is cast, however often. */
function uncast(value: unknown): SyntaxNode | undefined {
  let node = unwrap(value);
  while (node?.type === "TypeCast" || node?.type === "NamedArgExpr") node = unwrap(node.fields["arg"]);
  return node;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
