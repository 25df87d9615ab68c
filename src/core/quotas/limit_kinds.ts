/** The names of limits. */
export const limitNames = [
  "calls_per_minute",
  "statements_per_minute",
  "calls_at_once",
  "rows_per_day",
  "bytes_per_day",
  "provider_tokens_per_day",
] as const;

export type LimitName = (typeof limitNames)[number];
/** Those that are counted over a time. */
export type WindowLimit = Exclude<LimitName, "calls_at_once">;

/** How long each is counted, in milliseconds; windows begin with UTC's minutes and days. */
export const windowMs: Readonly<Record<WindowLimit, number>> = {
  calls_per_minute: 60_000,
  statements_per_minute: 60_000,
  rows_per_day: 86_400_000,
  bytes_per_day: 86_400_000,
  provider_tokens_per_day: 86_400_000,
};
