export type Value = string | number | boolean | null | readonly string[] | Readonly<Record<string, unknown>>;

/** Rows of one table, in the order of `columns`. */
export interface TableRows {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Value[])[];
}

export interface Product {
  readonly id: number;
  readonly priceCents: number;
}

export interface Customer {
  readonly id: number;
  readonly registeredDay: number;
  readonly tier: string;
}

/** How far the shop's history goes back. */
export const historyDays = 760;

/** The days since 1970-01-01 in UTC. */
export function dayNumber(time: Date): number {
  return Math.floor(time.getTime() / 86_400_000);
}

export function dateText(day: number): string {
  return new Date(day * 86_400_000).toISOString().slice(0, 10);
}

/** A `timestamptz` on that day, `second` seconds after midnight in UTC. */
export function timeText(day: number, second: number): string {
  return new Date((day * 86_400 + second) * 1000).toISOString();
}

export function euros(cents: number): string {
  return (cents / 100).toFixed(2);
}
