import {
  collectedByCast,
  elementOfCollected,
  listOfCollected,
  returnsTest,
  whySlowOperator,
} from "./growth_collected.ts";
import { type Argument, growthOfCall, maxValueSize, sizeOfJsonPath } from "./growth_functions.ts";
import { leastSizeOfCast } from "./growth_least_sizes.ts";
import { findColumn, type Scope } from "./growth_scope.ts";
import {
  arithmetic,
  constantShape,
  eitherOf,
  madeOf,
  nothing,
  type Shape,
  sum,
  tableColumn,
} from "./growth_shape.ts";
import { childrenOf, isRecord, listOf, nameParts, type SyntaxNode, textOf, unwrap } from "./syntax_tree.ts";

type Fields = SyntaxNode["fields"];

/** All that the planner may work out on the way, in characters. */
const maxTotalSize = 1_048_576;

export const tooLong =
  `the statement makes a value longer than ${maxValueSize} characters before any row is read; repeat or pad less`;
const measuredTwice =
  "a count that no number bounds is repeated more than once or inside of another; write least(count, 100)";

/** The shape of an expression, or of a list of them. */
export type ExpressionMeter = (expression: unknown, scope: Scope) => Shape;

interface ExpressionMeterOptions {
  /** Reports why the statement is refused; the shape is a harmless one to go on with. */
  readonly fault: (reason: string) => Shape;
  /** Counts what measuring itself takes. */
  readonly spend: (steps: number) => void;
  readonly isFaulty: () => boolean;
  /** The shapes of a subquery's columns. */
  readonly measureQuery: (select: Fields, scope: Scope) => readonly Shape[];
}

export function createExpressionMeter(
  { fault, spend, isFaulty, measureQuery }: ExpressionMeterOptions,
): ExpressionMeter {
  let totalSize = 0;
  let measured = 0;
  /** What the statement itself spells out, which a value may hold beside what it makes. */
  let spelledSize = 0;

  function measure(value: unknown, scope: Scope): Shape {
    if (isFaulty()) return tableColumn;
    if (Array.isArray(value)) return value.length === 0 ? nothing : madeOf(measureAll(value, scope));
    const node = unwrap(value);
    if (node === undefined) return nothing;
    const shape = measureNode(node, scope);
    totalSize += shape.size;
    return shape.size > maxValueSize + 2 * spelledSize || totalSize > maxTotalSize + 32 * spelledSize
      ? fault(tooLong)
      : shape;
  }

  function measureAll(values: unknown, scope: Scope): Shape[] {
    return listOf(values).map((value) => measure(value, scope));
  }

  function measureNode({ type, fields }: SyntaxNode, scope: Scope): Shape {
    switch (type) {
      case "A_Const":
        return measureConstant(fields);
      case "ColumnRef":
        return findColumn(scope, nameParts(fields["fields"]), spend) ?? tableColumn;
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
        return madeOf(measureAll(fields["elements"], scope), 1.8);
      case "RowExpr":
        return madeOf(measureAll(fields["args"], scope), 1.8);
      case "SubLink":
        return measureSubquery(fields, scope);
      case "A_Indirection":
        return measureElement(type, fields, scope);
      case "BoolExpr":
      case "NullTest":
      case "BooleanTest":
      case "JsonIsPredicate":
        return { ...measureParts(type, fields, scope), collected: "no" };
      case "JsonArrayAgg":
      case "JsonObjectAgg":
      case "JsonArrayQueryConstructor":
        return { ...measureParts(type, fields, scope), collected: "value" };
      case "SQLValueFunction":
        return tableColumn;
      case "SelectStmt":
        return eitherOf(measureQuery(fields, scope));
      case "XmlExpr":
        return madeOf(childrenOf(type, fields).map((child) => measure(child, scope)), 5);
      case "JsonFuncExpr":
        return measureJsonPath(childrenOf(type, fields), fields, scope);
      default:
        return measureParts(type, fields, scope);
    }
  }

  function measureParts(type: string, fields: Fields, scope: Scope): Shape {
    return madeOf(childrenOf(type, fields).map((child) => measure(child, scope)));
  }

  function measureSubquery(fields: Fields, scope: Scope): Shape {
    const query = measureQuery(unwrap(fields["subselect"])?.fields ?? {}, scope);
    const value = query[0] ?? tableColumn;
    const test = measure(fields["testexpr"], scope);
    const kind = textOf(fields["subLinkType"]);
    const slow = whySlowOperator(nameParts(fields["operName"]).at(-1) ?? "=", [test, eitherOf(query)]);
    if (slow !== undefined) return fault(slow);
    const collected = kind === "EXPR_SUBLINK"
      ? value.collected
      : kind === "ARRAY_SUBLINK"
      ? listOfCollected(value.collected)
      : "no";
    // it runs apart from the planner, but a number in it counts all the same
    return { ...madeOf([value, test]), data: true, bound: value.bound, collected };
  }

  function measureElement(type: string, fields: Fields, scope: Scope): Shape {
    const shape = measureParts(type, fields, scope);
    const steps = listOf(fields["indirection"]).map((step) => unwrap(step));
    // one slice among them makes slices of all
    const isElement = steps.every((step) => step?.type === "A_Indices" && step.fields["is_slice"] !== true);
    return isElement ? { ...shape, collected: elementOfCollected(shape.collected) } : shape;
  }

  function measureConstant(fields: Fields): Shape {
    const shape = constantShape(fields);
    spelledSize += shape.size;
    return shape;
  }

  function measureJsonPath(children: readonly unknown[], fields: Fields, scope: Scope): Shape {
    const made = madeOf(measureAll(children, scope), 2);
    return { ...made, size: sizeOfJsonPath(made.size, textConstant(unwrap(fields["pathspec"]))) };
  }

  function measureOperator(fields: Fields, scope: Scope): Shape {
    const left = fields["lexpr"] === undefined ? undefined : measure(fields["lexpr"], scope);
    const right = measure(fields["rexpr"], scope);
    const name = nameParts(fields["name"]).at(-1) ?? "=";
    const kind = textOf(fields["kind"]);
    const operator = kind === "AEXPR_OP" ? name : undefined;
    const operands = left === undefined ? [right] : [left, right];
    const slow = whySlowOperator(name, operands);
    if (slow !== undefined) return fault(slow);
    const made = arithmetic(operator, left, right) ?? madeOf(operands);
    const isValue = operator === undefined ? kind === "AEXPR_NULLIF" : !returnsTest(name);
    return isValue ? made : { ...made, collected: "no" };
  }

  function measureCast(fields: Fields, scope: Scope): Shape {
    const shape = measure(fields["arg"], scope);
    const type = isRecord(fields["typeName"]) ? fields["typeName"] : {};
    const typeName = nameParts(type["names"]).at(-1) ?? "";
    // these types fill a value up to the width that is given with them
    const isPadded = /^(bpchar|char|bit|numeric)$/.test(typeName);
    const widths = isPadded ? measureAll(type["typmods"], scope).map((width) => width.bound) : [];
    const collected = collectedByCast(typeName, listOf(type["arrayBounds"]).length > 0, shape.collected);
    // as text, each byte is two digits
    const size = typeName === "bytea" ? 2 * shape.size : shape.size;
    return {
      ...shape,
      nodes: shape.nodes + 1,
      size: Math.max(size, leastSizeOfCast(typeName), ...widths),
      collected,
    };
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
    const measuredBefore = measured;
    const args = listOf(fields["args"]).map((arg) => measureArgument(arg, scope));
    const aside = measureAll([fields["agg_order"], fields["agg_filter"]], scope);
    const over = isRecord(fields["over"]) ? measure(childrenOf("WindowDef", fields["over"]), scope) : nothing;
    const growth = growthOfCall(nameParts(fields["funcname"]).at(-1) ?? "", args);
    if (!growth.ok) return fault(growth.reason);
    const isGrowing = growth.shape.size > 1.9 * sum(args.map((arg) => arg.shape.size)) + 1_000;
    if (growth.measured) measured++;
    if (measured > 1 && growth.measured || measuredBefore < measured && isGrowing && !growth.measured) {
      return fault(measuredTwice);
    }
    const shape = {
      ...growth.shape,
      nodes: growth.shape.nodes + over.nodes + sum(aside.map((part) => part.nodes)),
    };
    const isOverRows = fields["over"] !== undefined || fields["agg_star"] === true;
    return isOverRows ? { ...shape, data: true, bound: 0 } : shape;
  }

  function measureArgument(value: unknown, scope: Scope): Argument {
    let node = unwrap(value);
    while (node?.type === "TypeCast" || node?.type === "NamedArgExpr") node = unwrap(node.fields["arg"]);
    return {
      shape: measure(value, scope),
      literal: textConstant(node),
      numbers: node?.type === "A_ArrayExpr" ? numbersOf(listOf(node.fields["elements"])) : undefined,
    };
  }

  return measure;
}

/** One of the values, with the nodes of all. */
function oneOf(shapes: readonly Shape[]): Shape {
  return { ...eitherOf(shapes), nodes: 1 + sum(shapes.map((shape) => shape.nodes)) };
}

function textConstant(node: SyntaxNode | undefined): string | undefined {
  const text = node?.fields["sval"];
  return isRecord(text) ? textOf(text["sval"]) : undefined;
}

/** The numbers of a list of numeric constants; undefined where anything else is among them. */
function numbersOf(items: readonly unknown[]): number[] | undefined {
  const numbers = items.map((item) => {
    const node = unwrap(item);
    return node?.type === "A_Const" ? constantShape(node.fields).bound : undefined;
  }).filter((number) => number !== undefined);
  return numbers.length === items.length ? numbers : undefined;
}
