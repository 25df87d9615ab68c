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
export const permittedNodes: ReadonlyMap<string, ReadonlyMap<string, FieldKind>> = new Map(
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
