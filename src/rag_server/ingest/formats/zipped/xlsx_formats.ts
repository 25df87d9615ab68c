import { childOf, childrenOf, firstElement, type XmlElement } from "./xml.ts";

/**
 * The formats that every workbook has, as far as they are here: as of ECMA-376, part 1, 18.8.30. Those from 27 on are for
 * dates in East Asia.
 */
const builtIn = (id: number): string => {
  if (id === 9 || id === 10) return "0%";
  if (id === 46) return "[h]";
  return (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 58) ? "d" : "";
};

/**
 * Shows the numbers of cells: dates and times as of ISO 8601, percentages, and others without the noise of their last
 * binary digits.
 *
 * @param properties of the workbook: its years may begin with 1904
 */
export function createCellFormats(stylesXml: Uint8Array | undefined, properties: XmlElement | undefined) {
  const sheet = firstElement(stylesXml, "styleSheet");
  const codes = new Map(
    childrenOf(childOf(sheet, "numFmts"), "numFmt").map(({ attributes: { numFmtId, formatCode } }) =>
      [numFmtId, formatCode] as const
    ),
  );
  const kinds = childrenOf(childOf(sheet, "cellXfs"), "xf").map(({ attributes: { numFmtId } }) =>
    kindOf(codes.get(numFmtId) ?? builtIn(Number(numFmtId)))
  );
  const isFrom1904 = /^(?:1|true)$/.test(properties?.attributes["date1904"] ?? "");

  /** @param style the number of the cell's format */
  return (value: string, style: number): string => {
    const number = Number(value);
    if (value.trim() === "" || !Number.isFinite(number)) return value;
    const kind = kinds[style];
    if (kind === "percent") return `${rounded(number * 100)}%`;
    if (kind === "time") return timeText(number * 86_400);
    const date = kind === "date" ? dateText(number, isFrom1904) : undefined;
    return date ?? rounded(number).padStart(typeof kind === "number" && number >= 0 ? kind : 0, "0");
  };
}

const rounded = (number: number) => String(Number(number.toPrecision(15)));

/**
 * Of a format's code, such as `dd.mm.yyyy`, `0.0%` or `[h]:mm`: its first part, which is that of positive numbers.
 *
 * @returns of plain numbers, how many digits each has at least
 */
function kindOf(code: string): number | "percent" | "date" | "time" {
  const signs = code.replace(/"[^"]*"|\\.|_.|\*./g, "").split(";")[0] ?? "";
  if (/\[(?:h+|m+|s+)\]/i.test(signs)) return "time";
  const bare = signs.replace(/\[[^\]]*\]|general/gi, "");
  if (/[dmyhs]/i.test(bare)) return "date";
  return bare.includes("%") ? "percent" : /^0+$/.exec(bare)?.[0].length ?? 0;
}

/** @param days since the end of 1899, or since 1904; undefined where no calendar has them */
function dateText(days: number, isFrom1904: boolean): string | undefined {
  if (days < 0 || days > 2_958_466) return undefined;
  if (days < 1) return timeText(days * 86_400);
  // Excel has a 29 February 1900
  const whole = isFrom1904 ? days + 1462 : days < 60 ? days + 1 : days;
  const seconds = Math.round((whole - 25_569) * 86_400);
  const [date = "", time = ""] = new Date(seconds * 1000).toISOString().slice(0, 19).split("T");
  return time === "00:00:00" ? date : `${date} ${time.replace(/:00$/, "")}`;
}

function timeText(seconds: number): string {
  const whole = Math.round(Math.abs(seconds));
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (number: number) => String(number).padStart(2, "0");
  return `${seconds < 0 ? "-" : ""}${two(hours)}:${two(minutes)}${rest === 0 ? "" : `:${two(rest)}`}`;
}
