/** How much a client may ask of a pipeline in one query. */
export const queryLimits = {
  queryCharacters: 32_000,
  columnCharacters: 1_000,
  topN: 100,
  messages: 100,
  conditions: 50,
  values: 1_000,
  valueLevels: 16,
  valueCharacters: 10_000,
  patternCharacters: 1_000,
} as const;

/** The comparisons that a condition of a filter may make. */
export const operators = [
  "=",
  "!=",
  "<",
  ">",
  "<=",
  ">=",
  "LIKE",
  "ILIKE",
  "IN",
  "NOT IN",
  "IS NULL",
  "IS NOT NULL",
] as const;

export type Operator = (typeof operators)[number];

/** The words that join the conditions of a filter. */
export const logics = ["AND", "OR"] as const;

export type Logic = (typeof logics)[number];
