import { nameOf, renderSql, sql as sqlOf, verbatim } from "../../../../src/postgres/sql_text.ts";
import type { checkFilter } from "../../../../src/rag_server/filter/check_filter.ts";
import { compileFilter } from "../../../../src/rag_server/filter/compile_filter.ts";
import { operators } from "../../../../src/rag_server/query_limits.ts";
import type { Filter } from "../../../../src/rag_server/query.ts";
import { type ColumnType, columnTypeOf } from "../../../../src/rag_server/search/column_type.ts";
import type { Callable, Cast, FuzzSchema, Marker, Operator, Relation } from "./generated_schema.ts";
import {
  around,
  arrayOf,
  bool,
  builtIns,
  type Column,
  type FuzzType,
  int4,
  type Random,
  related,
  sqlText,
  text,
} from "./generated_types.ts";

export interface FuzzStatement {
  readonly sql: string;
  readonly parameters: readonly string[];
  /** Where it counts the rows of a table that a condition selects. */
  readonly count?: { readonly schema: string; readonly table: string; readonly where: string };
  /** Where it is what a pipeline's filter becomes. */
  readonly filter?: { readonly table: FilteredTable; readonly filter: Filter };
}

/** What stands in FROM. */
interface Source {
  readonly alias: string;
  /** With the names that FROM gives its columns. */
  readonly relation: Relation;
  readonly text: string;
  /** Those names, in parentheses. */
  readonly names: string;
}

type FilteredTable = Parameters<typeof checkFilter>[1][number];

/**
 * The grammar, a way a line; a number before a colon is the first major version that has it. In braces stands a part, by its
 * name in `parts` below, or several of which one is taken: `{v}` is a value of the type at hand, `{T}` the type.
 */
const grammar = {
  /** A value of the type at hand. */
  value: `
{leaf}
coalesce({v}, {v})
CASE WHEN {true|false} THEN {v} ELSE {v} END
CASE {v} WHEN {v} THEN {v} END
nullif({v}, {v})
{greatest|least}({v}, {v})
(ARRAY[{v}, {v}])[1]
(SELECT {v})
(VALUES ({v}))
(SELECT {max|min|first_value|array_agg}({v}){| OVER ()})
(SELECT lag({v}, {0|1}, {v}) OVER ())
(SELECT {v} UNION {|ALL }SELECT {v} LIMIT 1)
({{text}|{other}})::{T}
(SELECT mode() WITHIN GROUP (ORDER BY {v}))`,
  enum: `
{enum_first|enum_last}(NULL::{T})
(enum_range(NULL::{T}))[1]`,
  composite: `
ROW({fields})
ROW({fields})::{T}
json{|b}_populate_record(NULL::{T}, {object})
{whole}`,
  array: `
ARRAY[{part}]{|::{T}}
ARRAY(SELECT {part})
(SELECT array_agg({part}))
array_append({v}, {part})
array_cat({v}, {v})
({v} {concat} {{v}|{part}})
array_fill({part}, ARRAY[1])
({v})[1:2]
enum_range({part}, {part})
enum_range({part})`,
  range: `
{T}({part}, {part}{|, '[]'})
range_merge({v}, {v})
({v} {*|+|-} {v})`,
  multirange: `
{T}({part})
(SELECT range_agg({part}))
multirange({part})
({v} {*|+|-} {v})`,
  domain: `
({part})::{T}
CAST({part} AS {T})`,
  "built-in": "{leaf}",
  base: "{leaf}",
  /** What a statement does with values. */
  work: `
{v}
{v} {comparison} {v}
{v} {comparison} {v}
{v} {=|<>|<|>|<=|>=|IS DISTINCT FROM} {{v}|{other}}
{v} {@>|<@|&&|{concat}|-|+|*|{adjacent}|<<} {{v}|{array}|{other}}
{v} {LIKE|ILIKE|~|SIMILAR TO|->|AT TIME ZONE} {{v}|{text}}
{{v}|{text}} {concat} {v}
{v} {|NOT }IN ({v}, {v})
{v} {|NOT }IN (SELECT {v})
{v} {BETWEEN|NOT BETWEEN|BETWEEN SYMMETRIC} {v} AND {v}
{v} {=|<>|<} {ANY|ALL} ({array})
ROW({v}, 1) {comparison} ROW({v}, 2)
({v}, 1) IN (SELECT {v}, 1)
({v})::{type}
({other})::{T}
CAST({{v}|{text}} AS {T})
({v})::{built-in}
{one}({{v}|{array}})
{one}({{v}|{array}})
{two}({v}, {{v}|{number}|{text}})
({v}).{to_json|hash_record|hash_array|array_to_json|text|int4|md5|length}
json{|b}_{build_object|object_agg}('k', {v})
{to_json|row_to_json|hash_record}(ROW({v}, 1))
{|to_}regtype({type's name})
{type's name}::regtype
has_{function|type}_privilege({name with type}, 'execute')
pg_get_object_address('type', ARRAY[{type's name}], ARRAY[]::text[])
format('%s %L', {v}, {v})
array_position({array}, {v})
array_{remove|replace}({array}, {v}{|, {v}})
width_bucket({v}, {array})
percentile_disc(0.5) WITHIN GROUP (ORDER BY {v})
{rank|dense_rank|cume_dist}({v}) WITHIN GROUP (ORDER BY {v})
count(DISTINCT {v})
array_agg({v} ORDER BY {v}{| USING <| DESC})
{count|array_agg|max|min|range_agg}({v}) OVER ({window})
(ARRAY[1, 2])[{|1:}{v}]
('[1]'::jsonb)[{v}]
({v}) IS NOT TRUE AND NOT ({v})
({v}).*
xmlforest({v} AS a)
xmlserialize(DOCUMENT {v} AS text)
{xmlconcat(|xmlelement(name a, }{v})
({v}) IS {NULL|TRUE|DOCUMENT}
substring({v}, {{v}|{number}})
num_nonnulls(VARIADIC {array})
({v}).{field}
json{|b}_populate_record({v}, {object})
{a}
to_json({a})
{a}.{call}
({a}).{call}
{a} = {a}
ROW({a}.*)::text
16: {JSON_OBJECT('a': |JSON_ARRAY(|JSON_SCALAR(|JSON_SERIALIZE(|JSON_ARRAYAGG(|JSON(}{v})
16: pg_input_{is_valid|error_info}({literal}, {type's name})
17: {JSON_VALUE|JSON_QUERY}({json}, '$' RETURNING {T}{| DEFAULT {v} ON EMPTY})`,
  query: `
SELECT {w} AS x FROM {source}
SELECT {w} AS x, {w} AS y FROM {source}
SELECT 1 AS x FROM {source} WHERE {{w}|({w}) IS NOT NULL|({w}) IS NULL|{flag}}
SELECT 1 AS x FROM {source} WHERE a.{column} {=|<>|<|>|<=|>=} {column's}
SELECT 1 AS x FROM {source} ORDER BY {{any}|{v} USING {<|>|{operator}}}
SELECT {any} AS x FROM {source} ORDER BY 1
SELECT DISTINCT {{any}|{any}|*|a} FROM {source}
SELECT DISTINCT ON ({any}) 1 AS x FROM {source}
SELECT count(*) AS x FROM {source} GROUP BY {{any}|a.{column}|ROLLUP ({any}, a.{column})|GROUPING SETS (({any}), ())}
SELECT count(*) AS x FROM {source} HAVING {({w}) IS NULL|max({v}) IS NOT NULL|{v}}
SELECT count(*) FILTER (WHERE {({w}) IS NULL|{v}}) AS x FROM {source}
SELECT {row_number()|count({v})|first_value({v})} OVER ({window}) AS x FROM {source}
SELECT 1 AS x FROM {source} LIMIT {{free}|1} OFFSET {{free}|1}
SELECT {any} AS x FROM {source} {UNION|UNION ALL|INTERSECT|EXCEPT} SELECT {free}
VALUES ({free}), ({free})
SELECT a.* FROM {from a} {|LEFT |FULL }JOIN {from b} USING ({column})
SELECT 1 AS x FROM {from a} NATURAL JOIN {from b}
SELECT 1 AS x FROM {from a} JOIN {from b} ON a.{column} {=|<|>} b.{column}
WITH RECURSIVE r(x, n) AS (SELECT {free}, 1 UNION {|ALL }SELECT x, n + 1 FROM r WHERE n < 3) {cycle} SELECT {*|1|x} FROM r
SELECT * FROM (SELECT {any} AS x FROM {source}) q WHERE q.x {comparison} {free}
WITH q{| (x)} AS {|MATERIALIZED }(SELECT {any} AS x FROM {source}) SELECT {q|x|DISTINCT x|q.*|to_json(q)} FROM q{| ORDER BY x| GROUP BY 1}
SELECT {*|r|r.a|to_json(r)} FROM json{|b}_to_record({object of a}) AS r(a {T})
SELECT l.* FROM {source}, LATERAL (SELECT {w} AS x) l
SELECT u FROM {source}, unnest({array}) u{| ORDER BY u}
SELECT f FROM {source}, {{function}|ROWS FROM ({function}, generate_series(1, 2))} AS f{| ORDER BY f}
SELECT 1 AS x FROM {relation} TABLESAMPLE bernoulli ({free}) REPEATABLE ({free})
SELECT {a|a.*|to_json(a)|a.*::text} FROM {from a}{| ORDER BY a| GROUP BY a}
17: SELECT * FROM JSON_TABLE({json}, '$' COLUMNS (a {T} PATH '$'))`,
  view: `
SELECT * FROM {from a}
SELECT {column} FROM {from a} ORDER BY 1
SELECT DISTINCT {column} FROM {from a}
SELECT {column}::text FROM {from a}
SELECT {column} = {column} FROM {from a}
SELECT to_json(a) FROM {from a}
SELECT count(*) FROM {from a}`,
};

/** Functions of PostgreSQL's own that take a value of any type, or look at what its type is made of. */
const ofOne = (
  "to_json to_jsonb json_build_array jsonb_build_array json_agg jsonb_agg array_agg count pg_typeof num_nulls concat " +
  "row_to_json array_to_json unnest cardinality array_length length md5 abs lower upper min max sum avg bit_and bool_and every " +
  "enum_first enum_last enum_range range_agg range_intersect_agg isempty lower_inf range_merge multirange hash_array hash_record " +
  "hash_range hash_multirange hashenum quote_literal quote_nullable pg_column_size string_agg array_ndims array_dims " +
  "array_to_string any_value trim_array array_sort array_reverse ascii round text int4 int8 bool numeric sign chr"
).split(" ");
const ofTwo =
  ("mod left repeat generate_series date_trunc make_date concat_ws lpad power array_fill range_merge int4range " +
    "numrange tsrange overlaps round substr split_part strpos json_object array_append array_cat").split(" ");

/**
 * Writes statements over a schema by the ways in which PostgreSQL comes to run functions. Types that lead to the dangers are
 * in most of them, and types that lead there in turn.
 */
export function createStatementWriter(schema: FuzzSchema, random: Random, dangers: readonly Marker[]) {
  const { types, tables, views, version } = schema;
  const marked = new Set(dangers.map(({ id }) => id));
  const own = tables.filter(({ isPlain }) => !isPlain);
  const near = dangers.flatMap((marker) => marker.types.flatMap((type) => around(type, types)));
  const isNear = (type: FuzzType | undefined) => near.some(({ sql }) => sql === type?.sql);
  const reached = dangers.map((danger) => new Set(danger.types.flatMap((type) => related(type, types))));
  const open = schema.openTypes.map((type) => related(type, types));
  const isOpen = [...open, ...reached.map((names) => [...names])].some((names) => names.length === 0) ||
    open.flat().some((name) => reached.some((names) => names.has(name)));
  const lines = linesFor(version);
  let from: Source[] = [];
  let parameters: string[] | undefined;

  /** One that leads to a danger, often where there is any; else one of all now and then. */
  function hinted<T extends { readonly marker: string | undefined }>(
    items: readonly T[],
    often: number,
    rarely: number,
  ) {
    const wanted = items.filter(({ marker }) => marker !== undefined && marked.has(marker));
    if (wanted.length > 0) return random.chance(often) ? random.pick(wanted) : undefined;
    return items.length > 0 && random.chance(rarely) ? random.pick(items) : undefined;
  }

  function anyType(): FuzzType {
    if (near.length === 0 || random.chance(0.2)) return random.pick(random.chance(0.6) ? types : builtIns);
    const type = random.pick(near);
    return random.chance(0.15) ? arrayOf(type) : type;
  }

  const literal = (type: FuzzType) => random.pick(type.literals);

  /** Parts of the grammar by name, over a type and for so many levels below it. */
  const parts: Readonly<Record<string, (type: FuzzType, depth: number) => string>> = {
    v: (type, depth) => value(type, depth - 1),
    w: () => work(),
    any: (type, depth) => random.chance(0.5) ? value(type, depth) : work(),
    free: (type, depth) => withoutFrom(() => random.chance(0.6) ? value(type, depth - 1) : work()),
    leaf,
    part: ({ of = text }, depth) => value(of, depth - 1),
    array: (type, depth) => value(arrayOf(type), depth - 1),
    other: (_, depth) => value(anyType(), depth - 1),
    text: (_, depth) => value(text, depth - 1),
    number: (_, depth) => value(int4, depth - 1),
    flag: (_, depth) => value(bool, depth - 1),
    T: ({ sql }) => sql,
    type: () => anyType().sql,
    "built-in": () => random.pick(builtIns).sql,
    "type's name": ({ sql }) => sqlText(sql),
    "name with type": ({ sql }) => sqlText(`${random.pick(["lower", "abs"])}(${sql})`),
    literal: (type) => sqlText(literal(type)),
    json: (type) => sqlText(JSON.stringify(literal(type))),
    object: ({ fields = [] }) => objectOf(fields),
    "object of a": (type) => objectOf([{ name: "a", type }]),
    fields: ({ fields = [] }, depth) => fields.map(({ type }) => value(type, depth - 1)).join(", "),
    field: ({ fields = [] }) => random.pick([...fields.map(({ name }) => name), "x"]),
    whole: ({ sql }) => from.find(({ relation }) => relation.row?.sql === sql)?.alias ?? "NULL",
    concat: () => "||",
    adjacent: () => "-|-",
    comparison: () =>
      random.pick(["=", "<>", "<", ">", "<=", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]),
    operator: () => random.pick([...schema.operators.map(({ sql }) => sql), "<"]),
    one: () => random.pick(ofOne),
    two: () => random.pick(ofTwo),
    a: () => from.length > 0 ? random.pick(from).alias : "NULL",
    call: () =>
      random.pick([...schema.callables.map(({ sql }) => bare(sql)), "to_json", "hash_record", "row_to_json"]),
    window: (type) =>
      fill("{|PARTITION BY {v} }ORDER BY {v}{|| RANGE {{v}|1} PRECEDING| ROWS {v} PRECEDING}", type, 1),
    source: () => from.map((source) => `${source.text} AS ${source.alias}${source.names}`).join(", "),
    "from a": () => `${from[0]?.text} AS a${from[0]?.names}`,
    "from b": () => `${from[0]?.text} AS b${from[0]?.names}`,
    relation: () => from[0]?.relation.sql ?? "",
    column: () => random.pick(from[0]?.relation.columns ?? []).name,
    "column's": () => value(random.pick(from[0]?.relation.columns ?? []).type, 1),
    function: () => calling(1) ?? "generate_series(1, 2)",
    cycle: (type) =>
      fill(
        "{|SEARCH {DEPTH|BREADTH} FIRST BY x SET o|CYCLE x SET c USING p|CYCLE {x|n} SET c TO {literal}::{T} DEFAULT {literal}::{T} USING p}",
        type,
        1,
      ),
  };

  /** The text with what stands in braces put in. */
  function fill(template: string, type: FuzzType, depth: number): string {
    let [filled, at] = ["", 0];
    while (at < template.length) {
      if (template[at] !== "{") {
        filled += template[at++];
        continue;
      }
      const { choices, end } = choicesAt(template, at);
      const choice = random.pick(choices);
      const part = choices.length === 1 && Object.hasOwn(parts, choice) ? parts[choice] : undefined;
      filled += part === undefined ? fill(choice, type, depth) : part(type, depth);
      at = end;
    }
    return filled;
  }

  function way(name: string, type: FuzzType, depth: number): string {
    return fill(random.pick(lines[name] ?? ["{leaf}"]), type, depth);
  }

  /** A value of the type, or one that PostgreSQL may take for it. */
  function value(type: FuzzType, depth: number): string {
    if (depth <= 0 || random.chance(0.3)) return leaf(type);
    const made = schema.callables.filter(({ returns }) => returns.sql === type.sql);
    if (made.length > 0 && random.chance(0.1)) return call(random.pick(made), depth - 1);
    const casts = schema.casts.filter(({ to }) => to.sql === type.sql);
    if (casts.length > 0 && random.chance(0.2)) return castOf(random.pick(casts), depth - 1);
    return way(random.chance(0.5) ? type.kind : "value", type, depth);
  }

  function leaf(type: FuzzType): string {
    const written = sqlText(literal(type));
    const columns = from.flatMap(({ alias, relation }) =>
      relation.columns.filter((column) => column.type.sql === type.sql).map(({ name }) => `${alias}.${name}`)
    );
    if (columns.length > 0 && random.chance(0.45)) return random.pick(columns);
    const found = own.flatMap(({ sql, columns }) =>
      columns.filter((column) => column.type.sql === type.sql).map(({ name }) =>
        `(SELECT ${name} FROM ${sql} LIMIT 1)`
      )
    );
    if (found.length > 0 && random.chance(0.2)) return random.pick(found);
    if (parameters !== undefined && random.chance(0.2)) {
      return `$${parameters.push(literal(type))}${random.pick(["", `::${type.sql}`])}`;
    }
    return random.pick([
      written,
      written,
      `${written}::${type.sql}`,
      `CAST(${written} AS ${type.sql})`,
      type.kind === "array" ? `${written}::${type.sql}` : `${type.sql} ${written}`,
      "NULL",
      `NULL::${type.sql}`,
    ]);
  }

  function objectOf(fields: readonly Column[]): string {
    return sqlText(
      JSON.stringify(Object.fromEntries(fields.map(({ name, type }) => [nameOf(name), literal(type)]))),
    );
  }

  function call({ sql, args, isAggregate }: Callable, depth: number): string {
    const given = args.map((type) => value(type, depth));
    if (isAggregate) {
      return `(SELECT ${sql}(${given.join(", ")})${
        random.pick(["", " OVER ()", " OVER (ROWS 1 PRECEDING)"])
      })`;
    }
    return given.length === 1 && random.chance(0.3)
      ? `(${given[0]}).${bare(sql)}`
      : `${sql}(${given.join(", ")})`;
  }

  function castOf({ from: source, to, isImplicit }: Cast, depth: number): string {
    const [given, other] = [value(source, depth), value(to, depth)];
    const explicit = [`(${given})::${to.sql}`, `CAST(${given} AS ${to.sql})`, `${to.sql}(${given})`];
    return random.pick(
      isImplicit ? [...explicit, `coalesce(${other}, ${given})`, `ARRAY[${other}, ${given}]`] : explicit,
    );
  }

  /** A call of an operator that someone made. */
  function operation({ sql, left, right }: Operator): string {
    const [l, r] = [left === undefined ? "" : value(left, 1), value(right, 1)];
    if (left === undefined) return `(${sql} ${r})`;
    return `(${l} ${sql} ${
      random.pick([r, r, `ANY (ARRAY[${r}])`, `ALL (ARRAY[${r}])`, `ANY (SELECT ${r})`])
    })`;
  }

  /** A call of a function that is a danger, or takes what leads to one. */
  function calling(depth: number): string | undefined {
    const taking = schema.callables.filter(({ args }) => args.some(isNear));
    const callable = hinted(schema.callables, 0.5, 0.1) ??
      (taking.length > 0 && random.chance(0.15) ? random.pick(taking) : undefined);
    return callable === undefined ? undefined : call(callable, depth);
  }

  function work(): string {
    const nearOperators = schema.operators.filter(({ left, right }) => isNear(left) || isNear(right));
    const operator = hinted(schema.operators, 0.6, 0.1) ??
      (nearOperators.length > 0 && random.chance(0.15) ? random.pick(nearOperators) : undefined);
    if (operator !== undefined) return operation(operator);
    const cast = hinted(schema.casts, 0.6, 0.05);
    if (cast !== undefined) return castOf(cast, 1);
    return calling(1) ?? way("work", anyType(), random.int(4));
  }

  function withoutFrom(make: () => string): string {
    const before = from;
    from = [];
    const made = make();
    from = before;
    return made;
  }

  function sourceOf(alias: string, relation: Relation): Source {
    const text = random.chance(0.3) ? random.pick([relation.sql, ...relation.readers]) : relation.sql;
    if (random.chance(0.8)) return { alias, relation, text, names: "" };
    const columns = relation.columns.map(({ type }, at) => ({ name: `n${at}`, type }));
    return {
      alias,
      relation: { ...relation, columns },
      text,
      names: `(${columns.map(({ name }) => name).join(", ")})`,
    };
  }

  function query(): string {
    from = [];
    if (random.chance(0.12)) return `SELECT ${work()} AS x`;
    from = [sourceOf("a", nearest(own)), ...(random.chance(0.25) ? [sourceOf("b", random.pick(own))] : [])];
    return random.chance(0.35)
      ? fill("SELECT {w} AS x FROM {source}", text, 1)
      : way("query", anyType(), random.int(4));
  }

  function ofView(): string {
    from = [sourceOf("a", random.pick(views))];
    return way("view", text, 1);
  }

  function statement(): FuzzStatement {
    parameters = random.chance(0.3) ? [] : undefined;
    if (random.chance(0.08)) return counting(nearest(own));
    if (random.chance(0.05)) return filtering(nearest(own)) ?? statement();
    const sql = views.length > 0 && random.chance(0.1) ? ofView() : query();
    const prefix = random.pick(["", "", "", "", "", "EXPLAIN ", "EXPLAIN (VERBOSE) ", "EXPLAIN (ANALYZE) "]);
    // not all that was drawn is in it
    const given: string[] = [];
    const numbered = sql.replace(
      /\$(\d+)/g,
      (_, number) => `$${given.push(parameters?.[Number(number) - 1] ?? "")}`,
    );
    // names that are one to a database which cuts them off
    const spelled = numbered.replace(/é{20,}/g, (letters) => letters + "é".repeat(random.int(9)));
    return { sql: prefix + spelled, parameters: given };
  }

  function counting(relation: Relation): FuzzStatement {
    parameters = undefined;
    const where = conditionOn(relation);
    const count = { schema: schemaOf(relation), table: nameOf(bare(relation.sql)), where };
    return { sql: `SELECT count(*) FROM ${relation.sql}\nWHERE (${where}\n)`, parameters: [], count };
  }

  /** Undefined where the value does not fit what a filter may compare the column with. */
  function filtering({ columns, ...relation }: Relation): FuzzStatement | undefined {
    const { name, type } = nearest(columns);
    // a pipeline has the names from the catalog, after the server has cut them off
    if (/[^ -~]/.test(relation.sql + name)) return undefined;
    const requestColumns = new Map(columns.map(({ name, type }) => [nameOf(name), columnType(type)]));
    const table = { relation: `${schemaOf(relation)}.${bare(relation.sql)}`, requestColumns };
    const operator = random.pick(operators);
    const given = () => type.kind === "array" ? [literal(type.of ?? text)] : literal(type);
    const value = operator.endsWith("IN") ? [given(), given()] : given();
    const filter: Filter = { conditions: [{ column: nameOf(name), operator, value }], logic: "AND" };
    try {
      const { condition } = compileFilter(filter, requestColumns);
      const { sql, parameters } = renderSql(
        sqlOf`SELECT 1 FROM ${verbatim(table.relation)} AS source WHERE ${condition}`,
      );
      return { sql, parameters: parameters.map(String), filter: { table, filter } };
    } catch {
      return undefined;
    }
  }

  /** Of those that have a type which leads to a danger, where there are any. */
  function nearest<T extends Relation | Column>(items: readonly T[]): T {
    const found = items.filter((item) =>
      "type" in item ? isNear(item.type) : item.columns.some(({ type }) => isNear(type))
    );
    return random.pick(found.length > 0 && random.chance(0.8) ? found : items);
  }

  function conditionOn(relation: Relation): string {
    from = [{ alias: bare(relation.sql), relation, text: relation.sql, names: "" }];
    return work();
  }

  return {
    statement,
    /** What a view may consist of. */
    viewQuery(): string {
      parameters = undefined;
      return query();
    },
    /** What a policy or a generated column may consist of. */
    condition: (table: Relation) => counting(table).count?.where ?? "",
    /** What the check of a domain over the type may consist of. */
    check(type: FuzzType): string {
      parameters = undefined;
      const value = { name: "VALUE", type };
      const relation = { sql: "", columns: [value], readers: [], row: undefined, isPlain: false };
      from = [{ alias: "", relation, text: "", names: "" }];
      return way("work", type, 3).replaceAll(".VALUE", "VALUE");
    },
    /** A read of tables that have nothing but built-in types; undefined where such values may become what is a danger. */
    honest: () => isOpen ? undefined : honestStatement(schema, random),
  };
}

/** The grammar's lines that a version has. */
function linesFor(version: number): Readonly<Record<string, readonly string[]>> {
  const known = (line: string) => Number(/^(\d+): /.exec(line)?.[1] ?? 0) <= version;
  return Object.fromEntries(
    Object.entries(grammar).map(([name, lines]) => [
      name,
      lines.split("\n").filter((line) => line !== "" && known(line)).map((line) =>
        line.replace(/^\d+: /, "")
      ),
    ]),
  );
}

/** What stands apart by `|` in the braces that open at a place, and where they are closed. */
function choicesAt(template: string, start: number) {
  const choices: string[] = [];
  let [level, from, at] = [0, start + 1, start];
  for (; at < template.length; at++) {
    if (template[at] === "{") level++;
    else if (template[at] === "}" && --level === 0) break;
    else if (template[at] === "|" && level === 1) {
      choices.push(template.slice(from, at));
      from = at + 1;
    }
  }
  return { choices: [...choices, template.slice(from, at)], end: at + 1 };
}

function bare(sql: string): string {
  return sql.replace(/^far\./, "");
}

function schemaOf({ sql }: Pick<Relation, "sql">): string {
  return sql.startsWith("far.") ? "far" : "public";
}

/** The type, domains taken off, as a pipeline knows it. */
function columnType({ kind, sql, of, literals }: FuzzType): ColumnType {
  if (kind === "domain" && of !== undefined) return columnType(of);
  if (kind === "array" && of !== undefined) return { kind: "array", sqlType: sql, element: columnType(of) };
  const category = kind === "enum" ? "E" : "U";
  return columnTypeOf({ name: kind === "built-in" ? sql : "", sqlType: sql, category, labels: literals });
}

function honestStatement({ tables }: FuzzSchema, random: Random): string {
  const { sql, columns } = random.pick(tables.filter(({ isPlain }) => isPlain));
  const [number, words, flag, list, other] = columns.map(({ name }) => name);
  return random.pick([
    `SELECT * FROM ${sql} ORDER BY ${number}, ${words}`,
    `SELECT ${words}, count(*), sum(${number}) FROM ${sql} GROUP BY ${words} HAVING count(*) > 0 ORDER BY 2 DESC`,
    `SELECT DISTINCT ${words}, ${flag} FROM ${sql} WHERE ${number} BETWEEN 1 AND 3`,
    `SELECT a.${words} FROM ${sql} a JOIN ${sql} b ON a.${number} = b.${number} WHERE b.${flag}`,
    `SELECT lower(${words}) || '!', coalesce(${words}, 'none') FROM ${sql} WHERE ${words} IN ('a', 'x') LIMIT 5`,
    `SELECT ${number} = ANY (${list}), array_length(${list}, 1), ${list}[1] FROM ${sql}`,
    `SELECT ${other}::text, ${number}::numeric / 2, CASE WHEN ${flag} THEN 'yes' ELSE 'no' END FROM ${sql}`,
    `SELECT sum(${number}) OVER (PARTITION BY ${words} ORDER BY ${number}) FROM ${sql}`,
    `WITH t AS (SELECT ${number} AS n FROM ${sql}) SELECT max(n), min(n) FROM t WHERE n <> 7`,
    `SELECT to_json(${words}), json_agg(${number}) FROM ${sql} GROUP BY ${words}`,
    `SELECT row_to_json(p) FROM ${sql} p`,
    `SELECT ${words} FROM ${sql} UNION SELECT ${words} FROM ${sql} ORDER BY 1`,
    `SELECT EXISTS (SELECT FROM ${sql} WHERE ${words} LIKE 'a%')::int`,
    `EXPLAIN SELECT count(*) FROM ${sql} WHERE ${number} > 1 AND ${words} = 'a'`,
  ]);
}
