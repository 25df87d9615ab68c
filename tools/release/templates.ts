/** The SHA-256 of each file of a release, in hexadecimal digits, by the file's name. */
export type ReleaseSums = ReadonlyMap<string, string>;

/** What a release's files are filled in with. */
export interface ReleaseValues {
  readonly version: string;
  /** The address of the source repository. */
  readonly repository: string;
}

/** Where a release's files are downloaded from. */
export function releaseAddress({ version, repository }: ReleaseValues): string {
  return `${repository}/releases/download/v${version}`;
}

/**
 * Fills in a file of `packaging/`: `@version@`, `@repository@`, `@owner@`, `@release@`, `@sha256 FILE@`, and `more`.
 *
 * @returns the text, and the files that it names and the release does not have
 * @throws {Error} for a name that is not known
 */
export function fillIn(
  template: string,
  values: ReleaseValues,
  sums: ReleaseSums,
  more: Readonly<Record<string, string>> = {},
): { text: string; missing: string[] } {
  const missing: string[] = [];
  const known: Readonly<Record<string, string>> = {
    ...values,
    owner: new URL(values.repository).pathname.split("/")[1] ?? "",
    release: releaseAddress(values),
    ...more,
  };
  const text = template
    .replaceAll(/@(\w+)@/g, (_, name: string) => {
      const value = known[name];
      if (value === undefined) throw new Error(`Cannot fill in @${name}@`);
      return value;
    })
    .replaceAll(/@sha256 (\S+)@/g, (_, file: string) => {
      const sum = sums.get(file);
      if (sum === undefined) missing.push(file);
      return sum ?? "";
    });
  return { text, missing };
}

/** The lines of `SHA256SUMS`, as `sha256sum --check` reads them. */
export function sumsText(sums: ReleaseSums): string {
  return [...sums].toSorted(([a], [b]) => a < b ? -1 : 1).map(([name, sum]) => `${sum}  ${name}\n`).join("");
}
