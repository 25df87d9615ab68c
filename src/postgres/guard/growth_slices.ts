import type { Shape } from "./growth_shape.ts";
import { listOf, nameParts, unwrap } from "./syntax_tree.ts";

interface Part {
  /** The column that it is made of. */
  readonly column: string;
  /** Else it is the whole of it, or a slice. */
  readonly isElement: boolean;
}

/** What two operands of `||` hold of the columns of a recursive query. */
export type WeighOperands = (
  operation: object,
  operands: readonly [unknown, unknown],
  shapes: readonly [Shape, Shape],
) => readonly [Shape, Shape];

/**
 * An array that is put together of its own slices and elements gets no longer than these: `a[:i - 1] || a[i + 1:]`,
 * `a[2:] || a[1]`. An element adds itself, and is not made longer.
 * That holds while all else that is put to them holds no column of the query, so elsewhere each counts as the whole.
 */
export function createSliceScale(): WeighOperands {
  /** The columns of what has been put together in this way; each `||` comes after those that are in it. */
  const joined = new WeakMap<object, string>();

  function partOf(value: unknown): Part | undefined {
    const node = unwrap(value);
    if (node === undefined) return undefined;
    const column = joined.get(node.fields);
    if (column !== undefined) return { column, isElement: false };
    if (node.type === "ColumnRef") {
      return { column: nameParts(node.fields["fields"]).join("."), isElement: false };
    }
    const arg = unwrap(node.fields["arg"]);
    if (node.type !== "A_Indirection" || arg?.type !== "ColumnRef") return undefined;
    const steps = listOf(node.fields["indirection"]).map((step) => unwrap(step));
    if (!steps.every((step) => step?.type === "A_Indices")) return undefined;
    const isElement = steps.every((step) => step?.fields["is_slice"] !== true);
    return { column: nameParts(arg.fields["fields"]).join("."), isElement };
  }

  return (operation, operands, shapes) => {
    const [left, right] = [partOf(operands[0]), partOf(operands[1])];
    const [leftShape, rightShape] = shapes;
    const list = [left, right].find((part) => part !== undefined && !part.isElement);
    const fits = (part: Part | undefined, shape: Shape) =>
      shape.holds === undefined || part !== undefined && part.column === list?.column;
    if (list === undefined || !fits(left, leftShape) || !fits(right, rightShape)) return shapes;
    joined.set(operation, list.column);
    return [weigh(left, leftShape), weigh(right, rightShape)];
  };
}

function weigh(part: Part | undefined, shape: Shape): Shape {
  if (part?.isElement !== true) return shape;
  const { holds: _, ...rest } = shape;
  return rest;
}
