/** What a condition of a filter may say of its column. */
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

/** What joins the conditions of a filter. */
export const logics = ["AND", "OR"] as const;

export type Logic = (typeof logics)[number];
