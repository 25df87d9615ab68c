import { type FieldKind, readNodes } from "./read_nodes.ts";

/** A node of the parser's tree: its type apart from its fields. */
export interface SyntaxNode {
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** How many nodes hold this one. */
  readonly depth: number;
}

/** Where the tree holds what no read consists of. */
export interface ForeignPart {
  readonly type: string;
  /** Absent where the node itself, not one of its fields, is unknown. */
  readonly field?: string;
  readonly node: SyntaxNode;
}

/**
 * Visits every node below and including `root`, parents first. Stops at the first part that `readNodes` does
 * not list and returns it. It keeps a stack of its own, since the depth of the tree is the caller's choice.
 */
export function visitNodes(root: SyntaxNode, visit: (node: SyntaxNode) => void): ForeignPart | undefined {
  const stack = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const known = readNodes.get(node.type);
    if (known === undefined) return { type: node.type, node };
    visit(node);
    const below: SyntaxNode[] = [];
    for (const field in node.fields) {
      const kind = known.get(field);
      if (kind === undefined) return { type: node.type, field, node };
      if (kind !== "scalar") pushChildren(below, kind, node.fields[field], node.depth + 1);
    }
    while (below.length > 0) {
      const child = below.pop();
      if (child !== undefined) stack.push(child);
    }
  }
  return undefined;
}

function pushChildren(
  into: SyntaxNode[],
  kind: Exclude<FieldKind, "scalar">,
  value: unknown,
  depth: number,
): void {
  if (kind === "node") {
    const items = Array.isArray(value) ? value : [value];
    for (const item of items) {
      const node = unwrap(item, depth);
      if (node !== undefined) into.push(node);
    }
    return;
  }
  if (isRecord(value)) into.push({ type: kind.type, fields: value, depth });
}

/** The node in the parser's `{"Type": {fields}}`; undefined for an empty place in a list. */
export function unwrap(value: unknown, depth = 0): SyntaxNode | undefined {
  if (!isRecord(value)) return undefined;
  // the first key is all there is; a list of all would be made for each of a hundred thousand nodes
  for (const type in value) {
    const fields = value[type];
    return { type, fields: isRecord(fields) ? fields : {}, depth };
  }
  return undefined;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The texts of a list of String nodes: the parts of a name. A `*` among them is left out. */
export function nameParts(list: unknown): string[] {
  return listOf(list).flatMap((item) => {
    const node = unwrap(item);
    return node?.type === "String" ? [textOf(node.fields["sval"])] : [];
  });
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The parser leaves out a text that is empty. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** The nodes right below one, as `unwrap` takes them. */
export function childrenOf(type: string, fields: SyntaxNode["fields"]): unknown[] {
  const known = readNodes.get(type);
  return Object.entries(fields).flatMap(([field, value]): unknown[] => {
    const kind = known?.get(field);
    if (kind === undefined || kind === "scalar") return [];
    if (kind === "node") return Array.isArray(value) ? value : [value];
    return [{ [kind.type]: value }];
  });
}
