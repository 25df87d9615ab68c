const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
  y: 31_536_000_000,
};

/**
 * Reads duration text such as `90s`, `15m`, `1h30m`, `30d`, `2w` or `1y` (a year is 365 days).
 * Returns milliseconds, at most a hundred years; undefined where the text is not of that form.
 */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,15}(ms|[smhdwy]))+$/.test(text)) return undefined;
  let totalMs = 0;
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|[smhdwy])/g)) {
    totalMs += Number(count) * (unitMs[unit ?? ""] ?? NaN);
  }
  return totalMs <= 100 * 31_536_000_000 ? totalMs : undefined;
}
