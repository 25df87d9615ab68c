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

/** What a field of a node holds: no node, nodes that name their own type, or one node of a fixed type. */
type FieldKind = "scalar" | "node" | { readonly type: string };

/**
 * Every node, and every field of it, that a read may consist of, by the names of PostgreSQL's `parsenodes.h` and
 * `primnodes.h`. What is not here is refused, so a construct of a later grammar is refused until someone has
 * looked at it. Left out on purpose: `intoClause` and `lockingClause`, which write; SetToDefault.
 * `field` holds no node, `field@` nodes of any type, `field@Type` one node of that type.
 */
const fieldsByType: Readonly<Record<string, string>> = {
  // statements
  SelectStmt:
    "distinctClause@ targetList@ fromClause@ whereClause@ groupClause@ groupDistinct havingClause@ " +
    "windowClause@ valuesLists@ sortClause@ limitOffset@ limitCount@ limitOption withClause@WithClause op all " +
    "larg@SelectStmt rarg@SelectStmt",
  ExplainStmt: "query@ options@",
  VariableShowStmt: "name",
  DefElem: "defname arg@ defaction location",
  // FROM and WITH
  WithClause: "ctes@ recursive location",
  CommonTableExpr: "ctename aliascolnames@ ctematerialized ctequery@ search_clause@CTESearchClause " +
    "cycle_clause@CTECycleClause location cterecursive cterefcount",
  CTESearchClause: "search_col_list@ search_breadth_first search_seq_column location",
  CTECycleClause:
    "cycle_col_list@ cycle_mark_column cycle_mark_value@ cycle_mark_default@ cycle_path_column location",
  RangeVar: "catalogname schemaname relname inh relpersistence alias@Alias location",
  RangeSubselect: "lateral subquery@ alias@Alias",
  RangeFunction: "lateral ordinality is_rowsfrom functions@ alias@Alias coldeflist@",
  RangeTableSample: "relation@ method@ args@ repeatable@ location",
  RangeTableFunc: "lateral docexpr@ rowexpr@ namespaces@ columns@ alias@Alias location",
  RangeTableFuncCol: "colname typeName@TypeName for_ordinality is_not_null colexpr@ coldefexpr@ location",
  JoinExpr: "jointype isNatural larg@ rarg@ usingClause@ join_using_alias@Alias quals@ alias@Alias",
  Alias: "aliasname colnames@",
  ColumnDef: "colname typeName@TypeName is_local collClause@CollateClause location",
  // clauses
  ResTarget: "name indirection@ val@ location",
  SortBy: "node@ sortby_dir sortby_nulls useOp@ location",
  WindowDef: "name refname partitionClause@ orderClause@ frameOptions startOffset@ endOffset@ location",
  GroupingSet: "kind content@ location",
  // expressions
  A_Const: "ival fval boolval sval bsval isnull location",
  // only where the statement comes with a value for it
  ParamRef: "number location",
  A_Star: "",
  ColumnRef: "fields@ location",
  A_Expr: "kind name@ lexpr@ rexpr@ rexpr_list_start rexpr_list_end location",
  A_Indices: "is_slice lidx@ uidx@",
  A_Indirection: "arg@ indirection@",
  A_ArrayExpr: "elements@ list_start list_end location",
  FuncCall: "funcname@ args@ agg_order@ agg_filter@ over@WindowDef agg_within_group agg_star agg_distinct " +
    "func_variadic funcformat location",
  NamedArgExpr: "arg@ name argnumber location",
  TypeCast: "arg@ typeName@TypeName location",
  TypeName: "names@ setof typmods@ typemod arrayBounds@ location",
  SubLink: "subLinkType testexpr@ operName@ subselect@ location",
  BoolExpr: "boolop args@ location",
  CaseExpr: "arg@ args@ defresult@ location",
  CaseWhen: "expr@ result@ location",
  CoalesceExpr: "args@ location",
  MinMaxExpr: "op args@ location",
  NullTest: "arg@ nulltesttype argisrow location",
  BooleanTest: "arg@ booltesttype location",
  RowExpr: "args@ row_format colnames@ location",
  GroupingFunc: "args@ location",
  SQLValueFunction: "op typmod location",
  CollateClause: "arg@ collname@ location",
  // XML and JSON
  XmlExpr: "op name named_args@ args@ xmloption indent location",
  XmlSerialize: "xmloption expr@ typeName@TypeName indent location",
  JsonFuncExpr: "op column_name context_item@JsonValueExpr pathspec@ passing@ output@JsonOutput " +
    "on_empty@JsonBehavior on_error@JsonBehavior wrapper quotes location",
  JsonTable:
    "context_item@JsonValueExpr pathspec@JsonTablePathSpec passing@ columns@ on_error@JsonBehavior " +
    "alias@Alias lateral location",
  JsonTableColumn:
    "coltype name typeName@TypeName pathspec@JsonTablePathSpec format@JsonFormat wrapper quotes " +
    "columns@ on_empty@JsonBehavior on_error@JsonBehavior location",
  JsonTablePathSpec: "string@ name name_location location",
  JsonArgument: "val@JsonValueExpr name",
  JsonValueExpr: "raw_expr@ formatted_expr@ format@JsonFormat",
  JsonOutput: "typeName@TypeName returning@JsonReturning",
  JsonReturning: "format@JsonFormat",
  JsonFormat: "format_type encoding location",
  JsonBehavior: "btype expr@ coerce location",
  JsonKeyValue: "key@ value@JsonValueExpr",
  JsonParseExpr: "expr@JsonValueExpr output@JsonOutput unique_keys location",
  JsonScalarExpr: "expr@ output@JsonOutput location",
  JsonSerializeExpr: "expr@JsonValueExpr output@JsonOutput location",
  JsonObjectConstructor: "exprs@ output@JsonOutput absent_on_null unique location",
  JsonArrayConstructor: "exprs@ output@JsonOutput absent_on_null location",
  JsonArrayQueryConstructor: "query@ output@JsonOutput format@JsonFormat absent_on_null location",
  JsonObjectAgg: "constructor@JsonAggConstructor arg@JsonKeyValue absent_on_null unique",
  JsonArrayAgg: "constructor@JsonAggConstructor arg@JsonValueExpr absent_on_null",
  JsonAggConstructor: "output@JsonOutput agg_filter@ agg_order@ over@WindowDef location",
  JsonIsPredicate: "expr@ format@JsonFormat item_type unique_keys location",
  // lists and values
  List: "items@",
  String: "sval",
  Integer: "ival",
  Float: "fval",
  Boolean: "boolval",
  BitString: "bsval",
};

/** The nodes that reads consist of, each with its fields. */
const permittedNodes: ReadonlyMap<string, ReadonlyMap<string, FieldKind>> = new Map(
  Object.entries(fieldsByType).map(([type, fields]) => [type, parseFields(fields)]),
);

function parseFields(text: string): ReadonlyMap<string, FieldKind> {
  const entries = text.split(" ").filter((field) => field !== "").map((field): [string, FieldKind] => {
    const at = field.indexOf("@");
    if (at < 0) return [field, "scalar"];
    const type = field.slice(at + 1);
    return [field.slice(0, at), type === "" ? "node" : { type }];
  });
  return new Map(entries);
}
