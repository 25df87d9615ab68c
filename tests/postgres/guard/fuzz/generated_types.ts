/** A generator of numbers with a seed: the same seed draws the same. */
export interface Random {
  /** From 0 to below `bound`. */
  int(bound: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  // mulberry32
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (bound: number) => Math.floor(next() * bound);
  return {
    int,
    chance: (probability) => next() < probability,
    pick<T>(items: readonly T[]): T {
      const [item] = items.slice(int(items.length));
      if (items.length === 0) throw new Error("expected something to pick from");
      return item as T;
    },
  };
}

type TypeKind = "built-in" | "enum" | "composite" | "domain" | "range" | "multirange" | "array" | "base";

export interface FuzzType {
  readonly kind: TypeKind;
  /** As a statement writes it. */
  readonly sql: string;
  /** Texts that its input takes. */
  readonly literals: readonly string[];
  /** What it is made of: an array's element, a range's subtype, a domain's base, a multirange's range. */
  readonly of?: FuzzType;
  readonly fields?: readonly Column[];
  /** Whether someone made it, or what it is made of. */
  readonly isOwn: boolean;
}

export interface Column {
  readonly name: string;
  readonly type: FuzzType;
}

function builtIn(sql: string, ...literals: string[]): FuzzType {
  return { kind: "built-in", sql, literals, isOwn: false };
}

export const int4 = builtIn("int4", "1", "2");
export const text = builtIn("text", "a", "x");
export const bool = builtIn("bool", "true");
export const json = builtIn("json", '{"a": 1}', "1");
export const jsonb = builtIn("jsonb", '{"a": 1}', "1");
export const builtIns: readonly FuzzType[] = [
  int4,
  text,
  bool,
  json,
  jsonb,
  builtIn("int8", "1", "7"),
  builtIn("numeric", "1.5"),
  builtIn("float8", "0.5"),
  builtIn("date", "2020-01-01"),
  builtIn("varchar", "a"),
  builtIn("float4", "1"),
  builtIn("xml", "<a/>"),
];

export function arrayOf(type: FuzzType): FuzzType {
  const literals = [...type.literals.map((literal) => `{${quoted(literal)}}`), "{}"];
  return { kind: "array", sql: `${type.sql}[]`, literals, of: type, isOwn: type.isOwn };
}

export function rowLiterals(fields: readonly Column[]): string[] {
  return [0, 1].map((at) =>
    `(${fields.map(({ type }) => quoted(type.literals[at % type.literals.length] ?? "")).join(",")})`
  );
}

export function rangeLiterals(subtype: FuzzType): string[] {
  const [lower = ""] = subtype.literals;
  return [`[${quoted(lower)},${quoted(subtype.literals.at(-1) ?? lower)}]`, "empty", `[${quoted(lower)},)`];
}

function quoted(literal: string): string {
  return `"${literal.replace(/["\\]/g, "\\$&")}"`;
}

export function sqlText(literal: string): string {
  return `'${literal.replaceAll("'", "''")}'`;
}

/** The type, what it is made of, all the way down, and of `all` those that are made of it. */
export function around(type: FuzzType, all: readonly FuzzType[]): FuzzType[] {
  const inner = partsOf(type);
  const outer = all.filter((other) => partsOf(other).some(({ sql }) => sql === type.sql));
  // itself the most: rows of tables hold everything
  return [type, type, type, type, arrayOf(type), ...inner.slice(0, 3), ...outer.slice(0, 4)];
}

/** Names of the types that someone made which the type is made of, and of those made of one of them. */
export function related(type: FuzzType, all: readonly FuzzType[]): string[] {
  const namesOf = (of: FuzzType) =>
    partsOf(of).filter(({ kind }) => kind !== "built-in").map(({ sql }) => sql);
  const inner = namesOf(type);
  const outer = all.filter((other) => namesOf(other).some((name) => inner.includes(name)));
  return [...inner, ...outer.flatMap(namesOf)];
}

function partsOf(type: FuzzType): FuzzType[] {
  const parts = [
    ...(type.of === undefined ? [] : [type.of]),
    ...(type.fields ?? []).map((field) => field.type),
  ];
  return [type, ...parts.flatMap(partsOf)];
}
