const unitBytes: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  kB: 1_000,
  KB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Reads `1 MiB`, `512KiB`, `10MB` or a bare number of bytes; undefined where the text is none of these. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,12}) ?([A-Za-z]{0,3})$/.exec(text);
  const unit = match === null ? undefined : unitBytes[match[2] ?? ""];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}
