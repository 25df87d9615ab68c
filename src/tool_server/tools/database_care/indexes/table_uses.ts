import {
  isRecord,
  listOf,
  nameParts,
  type SyntaxNode,
  textOf,
  unwrap,
  visitNodes,
} from "../../../../postgres/guard/syntax_tree.ts";

/** A table as a statement names it. */
export interface TableName {
  /** Optional: none where the search path decides. */
  readonly schema?: string;
  readonly table: string;
}

/** What one query does with the columns of one of its tables. */
export interface TableUse extends TableName {
  /** Compared to a value or a list of them for equality, or with NULL. */
  readonly equal: Set<string>;
  /** Compared to a value by order. */
  readonly range: Set<string>;
  /** Equal to a column of another table. */
  readonly join: Set<string>;
  /** What its rows are sorted by, if by its columns alone and all in one direction. */
  order: readonly string[];
  /** Columns of conditions of which one holds, so that each is looked up alone. */
  readonly either: Set<string>;
}

/** Which table of a query a column without a table's name is one of; undefined where that cannot be told. */
export type FindColumn = (tables: readonly TableName[], column: string) => number | undefined;

type Fields = SyntaxNode["fields"];

interface Scope {
  readonly uses: readonly TableUse[];
  /** What the query calls each of them. */
  readonly names: readonly string[];
}

/** The tables that a statement names, each once, those that are common table expressions left out. */
export function tablesOf(statement: SyntaxNode): readonly TableName[] {
  const expressions = expressionNames(statement);
  const found = new Map<string, TableName>();
  visitNodes(statement, ({ type, fields }) => {
    if (type !== "RangeVar") return;
    const name = tableName(fields);
    if (!isExpression(name, expressions)) found.set(JSON.stringify([name.schema, name.table]), name);
  });
  return [...found.values()];
}

/** How many values the statement wants for `$1` and on. */
export function parametersOf(statement: SyntaxNode): number {
  let most = 0;
  visitNodes(statement, ({ type, fields }) => {
    if (type === "ParamRef") most = Math.max(most, Number(fields["number"] ?? 0));
  });
  return most;
}

/** What a statement that the guard has passed does with the tables of each of its queries. */
export function tableUses(statement: SyntaxNode, findColumn: FindColumn): TableUse[] {
  const expressions = expressionNames(statement);
  const found: TableUse[] = [];
  visitNodes(statement, ({ type, fields }) => {
    if (type !== "SelectStmt" || fields["fromClause"] === undefined) return;
    const scope = scopeOf(fields, expressions);
    readQuery(fields, scope, findColumn);
    found.push(...scope.uses);
  });
  return found;
}

function expressionNames(statement: SyntaxNode): ReadonlySet<string> {
  const names = new Set<string>();
  visitNodes(statement, ({ type, fields }) => {
    if (type === "CommonTableExpr") names.add(textOf(fields["ctename"]));
  });
  return names;
}

function tableName(fields: Fields): TableName {
  const schema = textOf(fields["schemaname"]);
  return { ...(schema === "" ? {} : { schema }), table: textOf(fields["relname"]) };
}

function isExpression({ schema, table }: TableName, expressions: ReadonlySet<string>): boolean {
  return schema === undefined && expressions.has(table);
}

function scopeOf(fields: Fields, expressions: ReadonlySet<string>): Scope {
  const uses: TableUse[] = [];
  const names: string[] = [];
  const add = (item: unknown): void => {
    const node = unwrap(item);
    if (node?.type === "JoinExpr") {
      add(node.fields["larg"]);
      add(node.fields["rarg"]);
    }
    if (node?.type !== "RangeVar") return;
    const name = tableName(node.fields);
    if (isExpression(name, expressions)) return;
    const { alias } = node.fields;
    names.push(isRecord(alias) ? textOf(alias["aliasname"]) : name.table);
    const empty = () => new Set<string>();
    uses.push({ ...name, equal: empty(), range: empty(), join: empty(), order: [], either: empty() });
  };
  listOf(fields["fromClause"]).forEach(add);
  return { uses, names };
}

function readQuery(fields: Fields, scope: Scope, findColumn: FindColumn): void {
  const columnOf = (item: unknown) => columnIn(item, scope, findColumn);

  function addJoins(item: unknown): void {
    const node = unwrap(item);
    if (node?.type !== "JoinExpr") return;
    addJoins(node.fields["larg"]);
    addJoins(node.fields["rarg"]);
    addCondition(node.fields["quals"]);
    for (const column of nameParts(node.fields["usingClause"])) {
      for (const use of scope.uses) if (findColumn([use], column) === 0) use.join.add(column);
    }
  }

  function addCondition(item: unknown, isEither = false): void {
    const node = unwrap(item);
    if (node === undefined) return;
    const { type, fields } = node;
    if (type === "BoolExpr") {
      if (fields["boolop"] === "NOT_EXPR") return;
      const isOr = isEither || fields["boolop"] === "OR_EXPR";
      for (const part of listOf(fields["args"])) addCondition(part, isOr);
      return;
    }
    if (type === "NullTest" && fields["nulltesttype"] === "IS_NULL") {
      const column = columnOf(fields["arg"]);
      if (column !== undefined) put(column, "equal", isEither);
      return;
    }
    if (type === "SubLink" && fields["subLinkType"] === "ANY_SUBLINK") {
      const column = columnOf(fields["testexpr"]);
      if (column !== undefined) put(column, "join", isEither);
      return;
    }
    if (type === "A_Expr") addComparison(fields, isEither);
  }

  function addComparison(fields: Fields, isEither: boolean): void {
    const kind = kindOf(textOf(fields["kind"]), nameParts(fields["name"]).at(-1) ?? "");
    if (kind === undefined) return;
    const left = columnOf(fields["lexpr"]);
    const right = columnOf(fields["rexpr"]);
    if (left !== undefined && right !== undefined) {
      if (kind !== "equal" || left.use === right.use) return;
      put(left, "join", isEither);
      put(right, "join", isEither);
    } else if (left !== undefined && !namesColumns(fields["rexpr"], scope)) put(left, kind, isEither);
    else if (right !== undefined && !namesColumns(fields["lexpr"], scope)) put(right, kind, isEither);
  }

  listOf(fields["fromClause"]).forEach(addJoins);
  addCondition(fields["whereClause"]);
  addOrder(listOf(fields["sortClause"]), columnOf);
}

interface ColumnOfUse {
  readonly use: TableUse;
  readonly column: string;
}

function put({ use, column }: ColumnOfUse, kind: "equal" | "range" | "join", isEither: boolean): void {
  (isEither ? use.either : use[kind]).add(column);
}

function kindOf(kind: string, operator: string): "equal" | "range" | undefined {
  if (kind === "AEXPR_IN" || kind === "AEXPR_OP_ANY" || kind === "AEXPR_OP") {
    if (operator === "=") return "equal";
    return kind === "AEXPR_OP" && ["<", ">", "<=", ">="].includes(operator) ? "range" : undefined;
  }
  return kind === "AEXPR_BETWEEN" || kind === "AEXPR_BETWEEN_SYM" ? "range" : undefined;
}

/** The column of one of the query's tables that an expression is; a cast of it would not use an index. */
function columnIn(item: unknown, scope: Scope, findColumn: FindColumn): ColumnOfUse | undefined {
  const node = unwrap(item);
  if (node?.type !== "ColumnRef") return undefined;
  const parts = nameParts(node.fields["fields"]);
  const column = parts.at(-1);
  if (column === undefined) return undefined;
  const owner = parts.at(-2);
  const at = owner === undefined ? findColumn(scope.uses, column) : scope.names.indexOf(owner);
  const use = at === undefined ? undefined : scope.uses[at];
  return use === undefined || findColumn([use], column) === undefined ? undefined : { use, column };
}

/** Whether an expression needs a row of the query's own tables; columns of an outer query are values to it. */
function namesColumns(item: unknown, scope: Scope): boolean {
  const node = unwrap(item);
  if (node === undefined) return false;
  let found = false;
  visitNodes(node, ({ type, fields }) => {
    if (type !== "ColumnRef") return;
    const owner = nameParts(fields["fields"]).at(-2);
    if (owner === undefined || scope.names.includes(owner)) found = true;
  });
  return found;
}

function addOrder(items: readonly unknown[], columnOf: (item: unknown) => ColumnOfUse | undefined): void {
  const sorted = items.map((item) => {
    const fields = unwrap(item)?.fields;
    return fields && { column: columnOf(fields["node"]), direction: fields["sortby_dir"] === "SORTBY_DESC" };
  });
  const [first] = sorted;
  const use = first?.column?.use;
  if (use === undefined) return;
  const isPlain = sorted.every((each) => each?.column?.use === use && each.direction === first?.direction);
  if (isPlain) use.order = sorted.flatMap((each) => each?.column?.column ?? []);
}
