import { permittedNodes } from "./permitted_nodes.ts";

/** A node of the parser's tree: its type apart from its fields. */
export interface SyntaxNode {
  readonly type: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** How many nodes hold this one. */
  readonly depth: number;
}

/** The place in the tree of a part that no read has. */
export interface NotARead {
  readonly type: string;
  /** Optional: none where the node itself, not one of its fields, is unknown. */
  readonly field?: string;
  readonly node: SyntaxNode;
}

/**
 * Visits every node below and including `root`, parents first. Stops at the first part that `permittedNodes` does
 * not list and returns it. It keeps a stack of its own, since the depth of the tree is the caller's choice.
 */
export function visitNodes(root: SyntaxNode, visit: (node: SyntaxNode) => void): NotARead | undefined {
  const stack = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    const known = permittedNodes.get(node.type);
    if (known === undefined) return { type: node.type, node };
    visit(node);
    for (const field in node.fields) if (!known.has(field)) return { type: node.type, field, node };
    const children = childrenOf(node.type, node.fields);
    for (let at = children.length - 1; at >= 0; at--) {
      const child = unwrap(children[at], node.depth + 1);
      if (child !== undefined) stack.push(child);
    }
  }
  return undefined;
}

/** The nodes right below one, as `unwrap` takes them. */
export function childrenOf(type: string, fields: SyntaxNode["fields"]): unknown[] {
  const known = permittedNodes.get(type);
  const children: unknown[] = [];
  for (const field in fields) {
    const kind = known?.get(field);
    const value = fields[field];
    if (kind === undefined || kind === "scalar") continue;
    if (kind !== "node") children.push({ [kind.type]: value });
    else if (Array.isArray(value)) { for (const item of value) children.push(item); }
    else children.push(value);
  }
  return children;
}

/** The node in the parser's `{"Type": {fields}}`; undefined for an empty place in a list. */
export function unwrap(value: unknown, depth = 0): SyntaxNode | undefined {
  if (!isRecord(value)) return undefined;
  // a node has one key; Object.keys would make a list for each of a hundred thousand nodes
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

/** The text of a string literal; undefined of any other node. */
export function textConstant(node: SyntaxNode | undefined): string | undefined {
  const literal = node?.fields["sval"];
  return isRecord(literal) ? textOf(literal["sval"]) : undefined;
}

/** The number of an integer literal; undefined of any other node. */
export function integerConstant(node: SyntaxNode | undefined): number | undefined {
  const literal = node?.fields["ival"];
  return isRecord(literal) ? Number(literal["ival"] ?? 0) : undefined;
}
