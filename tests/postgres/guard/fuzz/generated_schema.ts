import { pg } from "../../../../src/postgres/connection.ts";
import { createStatementWriter } from "./generated_statements.ts";
import {
  arrayOf,
  bool,
  builtIns,
  type Column,
  type FuzzType,
  int4,
  json,
  type Random,
  rangeLiterals,
  rowLiterals,
  sqlText,
  text,
} from "./generated_types.ts";

/** A function that tells each of its calls by a notice, which neither READ ONLY nor ROLLBACK takes back. */
export interface Marker {
  /** What its notice says. */
  readonly id: string;
  /** As ALTER FUNCTION takes it. */
  readonly signature: string;
  /** What PostgreSQL runs it for. */
  readonly kind: string;
  /** Types that lead to it. */
  readonly types: readonly FuzzType[];
}

export interface Operator {
  readonly sql: string;
  readonly left: FuzzType | undefined;
  readonly right: FuzzType;
  readonly marker: string | undefined;
}

export interface Callable {
  readonly sql: string;
  readonly args: readonly FuzzType[];
  readonly returns: FuzzType;
  readonly isAggregate: boolean;
  readonly marker: string | undefined;
}

export interface Cast {
  readonly from: FuzzType;
  readonly to: FuzzType;
  readonly isImplicit: boolean;
  readonly marker: string | undefined;
}

export interface Relation {
  readonly sql: string;
  readonly columns: readonly Column[];
  /** What else gives its rows, as FROM has it. */
  readonly readers: string[];
  /** Undefined for a view. */
  readonly row: FuzzType | undefined;
  /** Whether there is nothing but built-in types in it. */
  readonly isPlain: boolean;
}

/** What statements are written over. */
export interface FuzzSchema {
  readonly types: FuzzType[];
  readonly tables: Relation[];
  readonly views: Relation[];
  readonly operators: Operator[];
  readonly callables: Callable[];
  readonly casts: Cast[];
  readonly markers: Marker[];
  /** PostgreSQL's major version. */
  version: number;
  /** Types that built-in values, rows or literals may become where nobody writes so, by operators, casts and functions. */
  readonly openTypes: FuzzType[];
  /** The statements that PostgreSQL took. */
  readonly ddl: string[];
}

const symbols = ["%%%", "@@@@", "|>|", "=", "=", "<>", "<", "||", "+", "&&", "@>", "~~", "->"];
/** A class's operators in their order, each with the end of a built-in function's name and its commutator. */
const comparisons = [["<", "_lt", ">"], ["<=", "_le", ">="], ["=", "_eq", "="], [">=", "_ge", "<="], [
  ">",
  "_gt",
  "<",
]] as const;
/** How those functions' names begin, by what the type is. */
const stems: Partial<Record<FuzzType["kind"], string>> = {
  enum: "enum",
  composite: "record",
  array: "array",
  range: "range",
  multirange: "multirange",
  base: "text",
};

/** Objects over markers, each IMMUTABLE until ALTER FUNCTION makes it VOLATILE. `name` makes names that fit the database. */
export async function createFuzzSchema(
  client: pg.Client,
  random: Random,
  name: (stem: string) => string,
): Promise<FuzzSchema> {
  const { rows: [row] } = await client.query(
    "SELECT current_setting('server_version_num')::int / 10000 AS version",
  );
  const schema: FuzzSchema = {
    types: [],
    tables: [],
    views: [],
    operators: [],
    callables: [],
    casts: [],
    markers: [],
    version: Number(row.version),
    openTypes: [],
    ddl: [],
  };
  const { types, markers, operators, callables } = schema;
  let count = 0;
  const fresh = (stem: string) => `${random.chance(0.25) ? "far." : ""}${name(`${stem}${++count}`)}`;
  const times = async (most: number, make: () => Promise<unknown>) => {
    for (let left = 1 + random.int(most); left > 0; left--) await make();
  };

  /** Whether PostgreSQL takes it: some of what chance puts together makes no sense. */
  async function run(sql: string): Promise<boolean> {
    const isTaken = await client.query(sql).then(() => true, () => false);
    if (isTaken) schema.ddl.push(sql);
    return isTaken;
  }

  /** A function that tells when it is called; undefined where it could not be made. */
  async function marker(
    kind: string,
    args: readonly (FuzzType | string)[],
    returns: FuzzType | string,
    result: string,
    sql = fresh("mark"),
  ) {
    const id = `m${++count}`;
    const signature = `${sql}(${args.map((arg) => typeof arg === "string" ? arg : arg.sql).join(", ")})`;
    const isMade = await run(
      `CREATE OR REPLACE FUNCTION ${signature} RETURNS ${typeof returns === "string" ? returns : returns.sql}
       LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE NOTICE 'mark ${id}'; RETURN ${result}; END $$`,
    );
    const involved = [...args, returns].filter((type) => typeof type !== "string");
    return isMade ? { id, signature, kind, types: involved.filter(({ isOwn }) => isOwn), sql } : undefined;
  }

  /** Makes what runs markers, which count once PostgreSQL has taken that; whether it has. */
  async function runWith(sql: string, made: readonly (Marker | undefined)[], over: readonly FuzzType[] = []) {
    if (!await run(sql)) return false;
    for (const marker of made) {
      if (marker !== undefined) markers.push({ ...marker, types: [...over, ...marker.types] });
    }
    return true;
  }

  /** One that does nothing. */
  async function calmFunction(
    args: string,
    returns: string,
    body = "BEGIN RETURN NULL; END",
    language = "plpgsql",
  ) {
    const sql = fresh("calm");
    return await run(
        `CREATE FUNCTION ${sql}(${args}) RETURNS ${returns} LANGUAGE ${language} STABLE AS $$${body}$$`,
      )
      ? sql
      : undefined;
  }

  const orArray = (type: FuzzType, probability: number) => random.chance(probability) ? arrayOf(type) : type;
  const ownType = () => orArray(random.pick(types), 0.25);
  const anyType = () => orArray(random.pick(random.chance(0.65) && types.length > 0 ? types : builtIns), 0.2);
  const valueOf = (type: FuzzType) => `${sqlText(random.pick(type.literals))}::${type.sql}`;
  const columns = (stem: string, most: number): Column[] =>
    Array.from(
      { length: 1 + random.int(most) },
      (_, at) => ({ name: name(`${stem}${at}`), type: anyType() }),
    );

  async function makeEnum(): Promise<void> {
    const sql = fresh("enum");
    if (!await run(`CREATE TYPE ${sql} AS ENUM ('a', 'b', 'c')`)) return;
    types.push({ kind: "enum", sql, literals: ["a", "b"], isOwn: true });
  }

  async function makeComposite(): Promise<void> {
    const [sql, fields] = [fresh("comp"), columns("f", 3)];
    if (!await run(`CREATE TYPE ${sql} AS (${listed(fields)})`)) return;
    types.push({ kind: "composite", sql, literals: rowLiterals(fields), fields, isOwn: true });
  }

  async function makeDomain(): Promise<void> {
    const [sql, base] = [fresh("dom"), anyType()];
    const domain: FuzzType = { kind: "domain", sql, literals: base.literals, of: base, isOwn: true };
    const check = random.chance(0.7) ? await marker("check", [base], bool, "true") : undefined;
    const checks = check === undefined ? "" : `CHECK (${check.sql}(VALUE))`;
    if (!await runWith(`CREATE DOMAIN ${sql} AS ${base.sql} ${checks}`, [check], [domain, domain])) return;
    types.push(domain);
  }

  /** Checks of what statements consist of, once there is something to check with. */
  async function addChecks(): Promise<void> {
    const writer = createStatementWriter(schema, random, []);
    for (const { kind, sql, of } of types) {
      if (kind !== "domain" || of === undefined || random.chance(0.4)) continue;
      for (let left = 4; left > 0; left--) {
        if (await run(`ALTER DOMAIN ${sql} ADD CHECK ((${writer.check(of)}) IS NULL OR true)`)) break;
      }
    }
  }

  async function makeBase(): Promise<void> {
    const [sql, reads, writes] = [fresh("base"), fresh("in"), fresh("out")];
    const typmod = await marker("typmod", ["cstring[]"], int4, "1");
    await run(`CREATE TYPE ${sql}`);
    await run(
      `CREATE FUNCTION ${reads}(cstring) RETURNS ${sql} LANGUAGE internal IMMUTABLE STRICT AS 'textin'`,
    );
    await run(
      `CREATE FUNCTION ${writes}(${sql}) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout'`,
    );
    const base: FuzzType = { kind: "base", sql, literals: ["a", "b"], isOwn: true };
    const sized: FuzzType = { ...base, sql: `${sql}(3)` };
    const made =
      `CREATE TYPE ${sql} (INPUT = ${reads}, OUTPUT = ${writes}, TYPMOD_IN = ${typmod?.sql}, LIKE = text)`;
    // it reads names of types, with what stands in parentheses behind them
    const reader: FuzzType = { kind: "built-in", sql: "regtype", literals: [sized.sql, "int4"], isOwn: true };
    if (!await runWith(made, [typmod], [sized, sized, base, reader])) return;
    types.push(base, ...(random.chance(0.5) ? [sized] : []), reader);
    const fit = await marker("length cast", [base, "int4", "bool"], base, "$1");
    await runWith(`CREATE CAST (${sql} AS ${sql}) WITH FUNCTION ${fit?.signature} AS IMPLICIT`, [fit], [
      sized,
      sized,
    ]);
  }

  async function makeRange(): Promise<void> {
    const [sql, multi] = [fresh("range"), fresh("multi")];
    const subtype = random.chance(0.6) ? ownType() : random.pick(builtIns);
    const options = [`subtype = ${subtype.sql}`, `multirange_type_name = ${multi}`];
    if (random.chance(0.5)) {
      const ofBase = subtype.kind === "domain" && subtype.of !== undefined ? subtype.of : subtype;
      const made = await makeClass(ofBase, "btree", random.chance(0.5));
      if (made !== undefined) options.push(`subtype_opclass = ${made}`);
    }
    const difference = random.chance(0.3)
      ? await marker("subtype_diff", [subtype, subtype], "float8", "1")
      : undefined;
    if (difference !== undefined) options.push(`subtype_diff = ${difference.sql}`);
    const canonical = random.chance(0.4) ? fresh("canonical") : undefined;
    if (canonical !== undefined) {
      // no other language takes a type that is not made yet
      await run(`CREATE TYPE ${sql}`);
      await run(
        `CREATE FUNCTION ${canonical}(${sql}) RETURNS ${sql} LANGUAGE internal IMMUTABLE STRICT AS 'int4range_canonical'`,
      );
      options.push(`canonical = ${canonical}`);
    }
    const literals = rangeLiterals(subtype);
    const range: FuzzType = { kind: "range", sql, literals, of: subtype, isOwn: true };
    const ofRange = [...literals.map((literal) => `{${literal}}`), "{}"];
    const multirange: FuzzType = {
      kind: "multirange",
      sql: multi,
      literals: ofRange,
      of: range,
      isOwn: true,
    };
    const made = `CREATE TYPE ${sql} AS RANGE (${options.join(", ")})`;
    if (!await runWith(made, [difference], [range, multirange])) return;
    types.push(range, multirange);
    if (canonical === undefined) return;
    const replaced = await marker("canonical", [range], range, "$1", canonical);
    if (replaced !== undefined) markers.push({ ...replaced, types: [range, multirange] });
  }

  /** The name of an operator class, whose functions are markers here and there. */
  async function makeClass(
    type: FuzzType,
    method: "btree" | "hash",
    isDefault: boolean,
  ): Promise<string | undefined> {
    const sql = fresh("class");
    const parts: string[] = [];
    const sides = `LEFTARG = ${type.sql}, RIGHTARG = ${type.sql}`;
    const stem = stems[type.kind];
    for (const [at, [symbol, suffix, commutator]] of comparisons.entries()) {
      if ((method === "hash" && symbol !== "=") || random.chance(0.05)) continue;
      const made = random.chance(0.25)
        ? await marker("class operator", [type, type], bool, "true")
        : undefined;
      const sidesOf = `${type.sql}, ${type.sql}`;
      const inside = `${stem}${stem === "text" && suffix === "_eq" ? "eq" : suffix}`;
      const plain = stem === undefined
        ? await calmFunction(sidesOf, "bool", "BEGIN RETURN true; END")
        : await calmFunction(sidesOf, "bool", inside, "internal STRICT");
      let extras = `COMMUTATOR = ${commutator}`;
      if (symbol === "=") {
        const negator = random.chance(0.4) ? await marker("negator", [type, type], bool, "false") : undefined;
        await runWith(`CREATE OPERATOR <> (${sides}, FUNCTION = ${negator?.sql})`, [negator]);
        operators.push({ sql: "<>", left: type, right: type, marker: negator?.id });
        extras += `, HASHES, MERGES${negator === undefined ? "" : ", NEGATOR = <>"}`;
      }
      if (isOpen(type, type)) schema.openTypes.push(type);
      await runWith(`CREATE OPERATOR ${symbol} (${sides}, FUNCTION = ${made?.sql ?? plain}, ${extras})`, [
        made,
      ]);
      operators.push({ sql: symbol, left: type, right: type, marker: made?.id });
      parts.push(`OPERATOR ${method === "btree" ? at + 1 : 1} ${symbol}`);
    }
    const kind = `${isDefault ? "default " : ""}${method} class`;
    const support = await marker(kind, method === "btree" ? [type, type] : [type], int4, "0");
    parts.push(`FUNCTION 1 ${support?.signature}`);
    const isFramed = method === "btree" && isDefault && random.chance(0.3);
    const frame = isFramed
      ? await marker("in_range", [type, type, "int4", "bool", "bool"], bool, "true")
      : undefined;
    if (frame !== undefined) parts.push(`FUNCTION 3 (${type.sql}, int4) ${frame.signature}`);
    const head = `CREATE OPERATOR CLASS ${sql} ${
      isDefault ? "DEFAULT " : ""
    }FOR TYPE ${type.sql} USING ${method}`;
    return await runWith(`${head} AS ${parts.join(", ")}`, [support, frame]) ? sql : undefined;
  }

  /** An operator that is a marker, or does nothing; another one may stand in for a marker. */
  async function makeOperator(): Promise<void> {
    const sideOf = () => random.chance(0.1) ? random.pick(builtIns) : ownType();
    const pair = random.chance(0.8) ? [sideOf(), anyType()] as const : [anyType(), sideOf()] as const;
    const [left, right] = random.chance(0.3) ? [pair[0], pair[0]] as const : pair;
    const isPrefix = random.chance(0.15);
    const returns = random.chance(0.8) ? bool : anyType();
    const args = isPrefix ? [right] : [left, right];
    const made = random.chance(0.7) ? await marker("operator", args, returns, valueOf(returns)) : undefined;
    const runs = made?.sql ?? await calmFunction(args.map(({ sql }) => sql).join(", "), returns.sql);
    const [symbol, where] = [
      random.pick(isPrefix ? symbols.slice(0, 3) : symbols),
      random.chance(0.2) ? "far." : "",
    ];
    const sides = `${isPrefix ? "" : `LEFTARG = ${left.sql}, `}RIGHTARG = ${right.sql}`;
    // an estimate may run the operator, or its negator
    const hasEstimate = !isPrefix && returns === bool && random.chance(0.5);
    const estimate = hasEstimate
      ? `, RESTRICT = ${random.pick(["eqsel", "neqsel", "scalarltsel", "contsel"])}`
      : "";
    if (
      !await runWith(`CREATE OPERATOR ${where}${symbol} (${sides}, FUNCTION = ${runs}${estimate})`, [made])
    ) return;
    if (isOpen(left, right) && !symbols.slice(0, 3).includes(symbol)) {
      // what it gives is a danger by its name, too
      schema.openTypes.push(left, right, ...(returns.kind === "built-in" ? [] : [returns]));
    }
    const written = (of: string) => where === "" ? of : `OPERATOR(far.${of})`;
    operators.push({ sql: written(symbol), left: isPrefix ? undefined : left, right, marker: made?.id });
    if (isPrefix || made === undefined || random.chance(0.6)) return;
    const partner = random.pick(["NEGATOR", "COMMUTATOR"]);
    const [l, r] = partner === "COMMUTATOR" ? [right, left] : [left, right];
    const calm = await calmFunction(`${l.sql}, ${r.sql}`, "bool");
    const other = `LEFTARG = ${l.sql}, RIGHTARG = ${r.sql}, FUNCTION = ${calm}${estimate}, ${partner} = ${
      written(symbol)
    }`;
    if (!await run(`CREATE OPERATOR ${where}=/= (${other})`)) return;
    if (isOpen(l, r)) schema.openTypes.push(l, r);
    operators.push({ sql: written("=/="), left: l, right: r, marker: made.id });
  }

  async function makeCast(): Promise<void> {
    const [from, to] = random.pick<readonly [FuzzType, FuzzType]>([
      [ownType(), random.pick([int4, bool, json, text, ...builtIns])],
      [random.pick(builtIns), ownType()],
      [ownType(), ownType()],
      [random.pick(types.filter(({ kind }) => kind !== "domain")), json],
    ]);
    const made = await marker("cast", [from], to, valueOf(to));
    const context = random.pick(["AS IMPLICIT", "AS ASSIGNMENT", ""]);
    if (
      !await runWith(`CREATE CAST (${from.sql} AS ${to.sql}) WITH FUNCTION ${made?.signature} ${context}`, [
        made,
      ])
    ) return;
    schema.casts.push({ from, to, isImplicit: context === "AS IMPLICIT", marker: made?.id });
    if (isBuiltIn(from) && context !== "") schema.openTypes.push(to);
  }

  /** A conversion by text, or none at all: nothing runs in it, and it leads from one type to another. */
  async function makeQuietCast(): Promise<void> {
    const base = types.find(({ kind }) => kind === "base");
    // what else has no function would have the server read bytes as what they are not
    const isBare = base !== undefined && random.chance(0.5);
    const [one, other] = isBare ? [base, text] : [ownType(), random.pick(builtIns)];
    const [from, to] = random.chance(0.5) ? [one, other] : [other, one];
    const how = `${isBare ? "WITHOUT FUNCTION" : "WITH INOUT"} ${
      random.pick(["AS IMPLICIT", "AS ASSIGNMENT"])
    }`;
    const isMade = await run(`CREATE CAST (${from.sql} AS ${to.sql}) ${how}`);
    if (isMade && from.kind === "built-in") schema.openTypes.push(to);
  }

  async function makeAggregate(): Promise<void> {
    const [sql, state, argument] = [fresh("agg"), anyType(), anyType()];
    const step = await marker("aggregate", [state, argument], state, "$1");
    const final = random.chance(0.4) ? await marker("aggregate", [state], state, "$1") : undefined;
    const parts = [`SFUNC = ${step?.sql}`, `STYPE = ${state.sql}`];
    if (final !== undefined) parts.push(`FINALFUNC = ${final.sql}`);
    if (random.chance(0.4)) {
      parts.push(`MSFUNC = ${step?.sql}, MINVFUNC = ${step?.sql}, MSTYPE = ${state.sql}`);
    }
    if (!await runWith(`CREATE AGGREGATE ${sql}(${argument.sql}) (${parts.join(", ")})`, [step, final])) {
      return;
    }
    for (const made of [step, final ?? step]) {
      callables.push({ sql, args: [argument], returns: state, isAggregate: true, marker: made?.id });
    }
  }

  async function makeFunction(): Promise<void> {
    const returns = anyType();
    const polymorphic = random.pick([
      "anyelement",
      "anyarray",
      "record",
      "anyrange",
      "anycompatible",
      "anyenum",
    ]);
    const args = random.chance(0.3) ? [polymorphic] : Array.from({ length: random.int(3) }, anyType);
    // names of built-in functions that are no danger
    const known = random.chance(0.25)
      ? `public.${random.pick(["random", "lower", "abs", "array_sample"])}`
      : undefined;
    const made = await marker("function", args, returns, valueOf(returns), known);
    if (made === undefined) return;
    markers.push(made);
    const given = args.map((arg) => typeof arg === "string" ? ownType() : arg);
    // the name alone tells, and a polymorphic one takes anything
    if (known !== undefined) schema.openTypes.push(returns, ...(args[0] === polymorphic ? [text] : given));
    callables.push({ sql: made.sql, args: given, returns, isAggregate: false, marker: made.id });
    if (args.length > 0) return;
    const sql = await calmFunction(`x ${returns.sql} DEFAULT ${made.sql}()`, returns.sql);
    if (sql !== undefined) callables.push({ sql, args: [], returns, isAggregate: false, marker: made.id });
  }

  /** Functions that do nothing: for each type one that takes a value of it, and some that give what a table holds. */
  async function makeCalmFunctions(): Promise<void> {
    const calm = { returns: int4, isAggregate: false, marker: undefined };
    for (const type of types) {
      const isVariadic = random.chance(0.25);
      const argument = isVariadic ? `VARIADIC ${type.sql}[]` : `${type.sql} DEFAULT ${valueOf(type)}`;
      const sql = await calmFunction(argument, "int4");
      if (sql === undefined) continue;
      callables.push({ ...calm, sql, args: [type] }, { ...calm, sql, args: isVariadic ? [type, type] : [] });
    }
    // in SQL it would become a part of the statement, as if its owner had not answered for it
    const reader = (returns: string, query: string) =>
      calmFunction(
        "",
        returns,
        returns.startsWith("SETOF") ? `BEGIN RETURN QUERY ${query}; END` : `BEGIN RETURN (${query}); END`,
      );
    for (const table of schema.tables) {
      const { name: column, type } = random.pick(table.columns);
      const sql = await reader(type.sql, `SELECT ${column} FROM ${table.sql} LIMIT 1`);
      if (sql !== undefined) callables.push({ ...calm, sql, args: [], returns: type });
      const rows = await reader(`SETOF ${table.sql}`, `SELECT * FROM ${table.sql}`);
      if (rows !== undefined) table.readers.push(`${rows}()`);
    }
  }

  async function makeTable(isPlain: boolean): Promise<Relation | undefined> {
    const sql = isPlain ? `plain${++count}` : fresh("tab");
    const plain = [int4, text, bool, arrayOf(int4), random.pick(builtIns)];
    const given = isPlain
      ? plain.map((type, at) => ({ name: `p${at}`, type }))
      : [{ name: "id", type: int4 }, ...columns("c", 4)];
    if (!await run(`CREATE TABLE ${sql} (${listed(given)})`)) return undefined;
    for (const at of [0, 1, 0]) {
      const values = given.map(({ type }) => sqlText(type.literals[at % type.literals.length] ?? ""));
      await run(`INSERT INTO ${sql} VALUES (${values.join(", ")})`);
    }
    const literals = rowLiterals(given);
    const row: FuzzType = { kind: "composite", sql, literals, fields: given, isOwn: !isPlain };
    const table = { sql, columns: given, readers: [`(TABLE ${sql})`], row, isPlain };
    schema.tables.push(table);
    if (!isPlain) types.push(row);
    return table;
  }

  async function makeIndexes(): Promise<void> {
    for (const { sql, columns } of schema.tables.filter(({ isPlain }) => !isPlain)) {
      const { name: column, type } = random.pick(columns);
      const made = await marker("index", [type], int4, "1");
      await runWith(`CREATE INDEX ON ${sql} ((${made?.sql}(${column})))`, random.chance(0.2) ? [made] : []);
      await run(`CREATE INDEX ON ${sql} USING ${random.pick(["btree", "hash", "gist"])} (${column})`);
      await run(`CREATE INDEX ON ${sql} (id) WHERE ${made?.sql}(${column}) = 1`);
    }
  }

  async function makeParted(): Promise<void> {
    const [type, sql, how] = [random.pick(types), fresh("parted"), random.pick(["LIST", "RANGE"])];
    const columnClass = await makeClass(type, "btree", random.chance(0.5)) ?? "";
    const given = [{ name: "id", type: int4 }, { name: "k", type }];
    if (!await run(`CREATE TABLE ${sql} (${listed(given)}) PARTITION BY ${how} (k ${columnClass})`)) return;
    const bound = sqlText(type.literals[0] ?? "");
    const values = how === "LIST" ? `IN (${bound})` : `FROM (${bound}) TO (MAXVALUE)`;
    await run(`CREATE TABLE ${fresh("rest")} PARTITION OF ${sql} DEFAULT`);
    await run(`CREATE TABLE ${fresh("part")} PARTITION OF ${sql} FOR VALUES ${values}`);
    await run(`INSERT INTO ${sql} VALUES (1, ${bound})`);
    schema.tables.push({ sql, columns: given, readers: [], row: undefined, isPlain: false });
  }

  /** Views, policies and generated columns of what statements consist of. */
  async function makeStored(): Promise<void> {
    const writer = createStatementWriter(schema, random, []);
    for (let left = 8; left > 0; left--) {
      const sql = fresh("view");
      if (!await run(`CREATE VIEW ${sql} AS ${writer.viewQuery()}`)) continue;
      const { fields } = await client.query(`SELECT * FROM ${sql} LIMIT 0`).catch(() => ({ fields: [] }));
      const columns = fields.map(({ name }) => ({ name: `"${name}"`, type: text }));
      if (columns.length > 0) {
        schema.views.push({ sql, columns, readers: [], row: undefined, isPlain: false });
      }
    }
    for (let left = 3; left > 0; left--) {
      const table = await makeTable(false);
      if (table === undefined) continue;
      const condition = writer.condition(table);
      if (!await run(`CREATE POLICY p ON ${table.sql} USING ((${condition}) IS NOT NULL OR true)`)) continue;
      await run(`ALTER TABLE ${table.sql} ENABLE ROW LEVEL SECURITY`);
      const kept = schema.version >= 18 ? "VIRTUAL" : "STORED";
      await run(
        `ALTER TABLE ${table.sql} ADD COLUMN g bool GENERATED ALWAYS AS ((${condition}) IS NULL) ${kept}`,
      );
    }
  }

  await run("CREATE SCHEMA far");
  await times(2, makeEnum);
  await times(2, makeComposite);
  await times(2, makeDomain);
  if (random.chance(0.5)) await makeBase();
  await times(2, makeRange);
  await times(2, makeDomain);
  await times(1, makeComposite);
  if (random.chance(0.3)) await makeRange();
  await times(3, () => makeTable(false));
  await times(4, makeCast);
  if (random.chance(0.3)) await makeQuietCast();
  await times(5, makeOperator);
  await times(2, async () => {
    const type = random.chance(0.15) ? random.pick(builtIns) : ownType();
    await makeClass(type, random.pick(["btree", "btree", "hash"]), true);
  });
  await times(2, makeAggregate);
  await times(3, makeFunction);
  await addChecks();
  await makeTable(true);
  await makeTable(true);
  await makeIndexes();
  if (random.chance(0.4)) await makeParted();
  await makeStored();
  await makeCalmFunctions();
  await run("ANALYZE");
  return schema;
}

/** Whether another value than of these types, a row or a literal may be taken for an operand: the name alone tells then. */
function isOpen(left: FuzzType, right: FuzzType): boolean {
  const kinds = [left, right].map(({ kind, of }) => kind === "array" ? of?.kind : kind);
  return left !== right || kinds.includes("domain") || kinds.includes("built-in");
}

function isBuiltIn({ kind, of }: FuzzType): boolean {
  return (kind === "array" ? of?.kind : kind) === "built-in";
}

function listed(columns: readonly Column[]): string {
  return columns.map(({ name, type }) => `${name} ${type.sql}`).join(", ");
}
