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

const units = ["KiB", "MiB", "GiB"] as const;

/** A number of bytes for people, with one digit behind the point at most: `50 MiB`, `1.5 KiB`, `900 bytes`. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} ${bytes === 1 ? "byte" : "bytes"}`;
  let value = bytes / 1024;
  let unit = 0;
  // 1,023.96 KiB would be rounded to 1,024
  while (value >= 1023.95 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Math.round(value * 10) / 10} ${units[unit]}`;
}
