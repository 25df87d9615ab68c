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
