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
