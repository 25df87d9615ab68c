const short: readonly (readonly [RegExp, string])[] = [
  [/^timestamp(\(\d\))? with time zone/, "timestamptz"],
  [/^timestamp(\(\d\))? without time zone/, "timestamp"],
  [/^time(\(\d\))? with time zone/, "timetz"],
  [/^time(\(\d\))? without time zone/, "time"],
  [/^character varying(\(\d+\))?/, "varchar"],
  // a char without a length is one character long
  [/^character(?=\(\d+\))/, "char"],
  [/^double precision/, "float8"],
  [/^integer/, "int"],
  [/^boolean/, "bool"],
  [/^numeric\([\d,-]+\)/, "numeric"],
  [/^bit varying(\(\d+\))?/, "varbit"],
];

/** A type's name in PostgreSQL's shortest spelling, most lengths and precisions left out: they matter to few queries. */
export function shortenType(type: string): string {
  for (const [long, name] of short) if (long.test(type)) return type.replace(long, name);
  return type;
}
