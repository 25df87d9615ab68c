const pattern =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ \t]+)(\d{1,2}):(\d{2}):(\d{2})(?:\.(\d*))?[ \t]*(?:(Z)|([+-])(\d{1,2})(?::?(\d{2}))?)?)?$/;

/**
 * Reads a point in time as YAML writes it (https://yaml.org/type/timestamp.html): RFC 3339, with a space for the `T`,
 * a fraction of any length or a date alone too; without a zone it is UTC.
 * Returns milliseconds since 1970, or undefined for other text and for days that no calendar has.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = pattern.exec(text);
  if (match === null) return undefined;
  const number = (group: number) => Number(match[group] ?? 0);
  const [year, month, day, hour, minute, second] = [1, 2, 3, 4, 5, 6].map(number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [zoneHours, zoneMinutes] = [number(10), number(11)];
  if (hour > 23 || minute > 59 || second > 59 || zoneHours > 23 || zoneMinutes > 59) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const millisecond = Math.trunc(Number(`0.${match[7] || "0"}`) * 1000);
  const local = date.setUTCHours(hour, minute, second, millisecond);
  const offsetMs = (zoneHours * 60 + zoneMinutes) * 60_000;
  return match[9] === "-" ? local + offsetMs : local - offsetMs;
}

/** A point in time as RFC 3339 in UTC, to the second: what credential files and `-json` hold. */
export function formatTimestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}

/** The same as a field's value; null stays null. */
export function timestampOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimestamp(ms);
}
