/** Headers by name, as configuration and vendors' adapters give them. */
export type HeaderRecord = Readonly<Record<string, string>>;

/**
 * One set of headers from several levels. Of two names that differ in case alone, the later level's wins.
 * @param levels from the most general to the most particular; an absent level is skipped
 * @returns the headers under lower-case names
 */
export function mergeHeaders(...levels: readonly (HeaderRecord | undefined)[]): HeaderRecord {
  const entries = levels.flatMap((level) => Object.entries(level ?? {}));
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]));
}
