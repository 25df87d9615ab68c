import { foldText, hasFigure, words } from "./words.ts";

/** A number or date that a text names. */
interface Figure {
  /** All that it may be read as: 3.500 is more than three, or more than three thousand. */
  readonly readings: readonly string[];
  /** What it stands for where it is looked up: of a date its year, too. */
  readonly given: readonly string[];
}

/** The months in English, German, French, Spanish, Italian, Portuguese, Dutch, Polish, Turkish, Russian and Scandinavian, folded. */
const months: ReadonlyMap<string, number> = new Map(
  [
    "january jan januar janvier enero gennaio janeiro januari styczen stycznia ocak январь января",
    "february feb februar fevrier febrero febbraio fevereiro februari luty lutego subat февраль февраля",
    "march mar marz mars marzo marco maart marzec marca marts mart март марта",
    "april apr avril abril aprile kwiecien kwietnia nisan апрель апреля",
    "may mai mayo maggio maio mei maj maja mayıs маи мая",
    "june jun juni juin junio giugno junho czerwiec czerwca haziran июнь июня",
    "july jul juli juillet julio luglio julho lipiec lipca temmuz июль июля",
    "august aug aout agosto augustus augusti sierpien sierpnia agustos август августа",
    "september sep sept septembre septiembre settembre setembro wrzesien wrzesnia eylul сентябрь сентября",
    "october oct oktober okt octobre octubre ottobre outubro pazdziernik pazdziernika ekim октябрь октября",
    "november nov novembre noviembre novembro listopad listopada kasım ноябрь ноября",
    "december dec dezember dez decembre diciembre dicembre dezembro grudzien grudnia aralık декабрь декабря",
  ].flatMap((names, at) => names.split(" ").map((name) => [name, at + 1] as const)),
);

/** English and German ones; "one" is an article in many languages. */
const numberWords = new Map(
  [
    "two three four five six seven eight nine ten eleven twelve",
    "zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
  ].flatMap((list) => list.split(" ").map((word, at) => [word, String(at + 2)] as const)),
);
const numerals = "〇一二三四五六七八九";
const powers: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1_000, 万: 10_000, 萬: 10_000 };
/** Before what is counted, since 一般 holds no number. */
const counted =
  /(?<![〇一二三四五六七八九十百千万萬两])[〇一二三四五六七八九十百千万萬两]{1,20}(?=[年月日天週周時时小点歳岁个個名人位元円块次回条章])/gu;

const month = "(?<!\\p{L})([\\p{L}\\p{M}]{3,14})\\.?";
const end = "(?![\\p{L}\\p{N}])";
const [day, year] = ["(\\d{1,2})(?:\\.|st|nd|rd|th|er|[ºª])?", "(\\d{4})"];
const [of, comma] = [" ?(?:de |of )?", ",?(?: del?)? "];
/** Ways to write one, with what the groups are: years, months and days. */
const dates = ([
  [`${day}${of}${month}${comma}${year}${end}`, "dmy"],
  [`${month} ${day},? ${year}${end}`, "mdy"],
  [`${year}(?:[-/.]|年|년) ?(\\d{1,2})(?:[-/.]|月|월) ?(\\d{1,2})(?!\\p{N})`, "ymd"],
  [`(\\d{1,2})[-.] ?(\\d{1,2})[-.] ?${year}${end}`, "dmy"],
  [`(\\d{1,2})/(\\d{1,2})/${year}${end}`, "dmy mdy"],
  [`${month}${comma}${year}${end}`, "my"],
  [`${year}(?:年|년) ?(\\d{1,2})(?=月|월)`, "ym"],
  [`${day}${of}${month}${end}`, "dm"],
  [`${month} ${day}${end}`, "md"],
  [`(\\d{1,2})(?:月|월) ?(\\d{1,2})(?=日|일)`, "md"],
] as const).map(([way, orders]) => [new RegExp(`(?<!\\p{N})${way}`, "giu"), orders.split(" ")] as const);

/** The numbers and dates of a text, in several languages and ways of writing, and what is left of it without its dates. */
export function figuresIn(text: string): { readonly figures: Figure[]; readonly rest: string } {
  const figures: Figure[] = [];
  let rest = text.normalize("NFC").replace(/\p{Nd}/gu, asciiDigit)
    .replace(counted, (run) => ` ${valueOf(run)} `)
    .replace(
      /(?<!\p{N})\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\p{N})/gu,
      (grouped) => grouped.replace(/\s/g, ""),
    );
  for (const [way, orders] of dates) {
    rest = rest.replace(way, (written, ...groups) => {
      const found = orders.flatMap((order) => dateOf(order, groups) ?? []);
      if (found.length === 0) return written;
      figures.push({
        readings: found.flatMap(({ readings }) => readings),
        given: found.flatMap(({ given }) => given),
      });
      return " ";
    });
  }
  // MV-77 is MV77
  const joined = rest.replace(/(?<=\p{L})[-‐‑–_](?=\d)|(?<=\d)[-‐‑](?=\p{L})/gu, "");
  const own = words(joined);
  const apart = joined === rest ? [] : words(rest).filter(hasFigure);
  for (const word of own) {
    const said = numberWords.get(word);
    const readings = said === undefined ? hasFigure(word) ? readingsOf(word) : [] : [said];
    if (readings.length > 0) figures.push({ readings, given: readings });
  }
  if (apart.length > 0) figures.push({ readings: [], given: apart.flatMap(readingsOf) });
  return { figures, rest: joined };
}

/** @param order of the groups, a letter each; undefined where they make no date */
function dateOf(order: string, groups: readonly unknown[]): Figure | undefined {
  const part = (letter: string) => {
    const at = order.indexOf(letter);
    if (at === -1) return undefined;
    const written = String(groups[at]);
    return (/^\d/.test(written) ? Number(written) : months.get(foldText(written)) ?? 0).toString().padStart(
      2,
      "0",
    );
  };
  const [y, m = "", d] = [part("y"), part("m"), part("d")];
  if (Number(m) < 1 || Number(m) > 12 || Number(d ?? 1) < 1 || Number(d ?? 1) > 31) return undefined;
  const numbers = [y, d].flatMap((number) => number === undefined ? [] : plain(number));
  const [ofYear, ofAnyYear, date] = [`${y}-${m}`, `${m}-${d}`, `${y}-${m}-${d}`];
  if (d === undefined) return { readings: [ofYear], given: [ofYear, ...numbers] };
  const withoutYear = `${ofAnyYear} without a year`;
  return y === undefined
    ? { readings: [ofAnyYear], given: [ofAnyYear, withoutYear, ...numbers] }
    : { readings: [date, withoutYear], given: [date, ofAnyYear, ofYear, ...numbers] };
}

function readingsOf(word: string): string[] {
  const [, digits] = /^(\d+)\p{L}+$/u.exec(word) ?? [];
  if (digits !== undefined) return [word, plain(digits)];
  const parts = word.split(/[.,]/);
  const isGrouped = /^\d{1,3}([.,]\d{3})+$/.test(word);
  const decimal = parts.length > 1 ? [plain(`${parts.slice(0, -1).join("")}.${parts.at(-1)}`)] : [];
  return [...(isGrouped || parts.length === 1 ? [plain(parts.join(""))] : []), ...decimal, word];
}

/** Without zeros that say nothing. */
function plain(figure: string): string {
  return /^\d{1,15}(\.\d{1,15})?$/.test(figure) ? String(Number(figure)) : figure;
}

/** Unicode has the digits of a script one after the other. */
function asciiDigit(digit: string): string {
  const code = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(code - value - 1))) value++;
  return code < 0x80 ? digit : String(value);
}

/** Of numerals as in 二千五百 or 二〇二四. */
function valueOf(run: string): string {
  if (!/[十百千万萬]/u.test(run)) {
    return [...run.replaceAll("两", "二")].map((each) => numerals.indexOf(each)).join("");
  }
  let [whole, part, digit] = [0, 0, 0];
  for (const each of run.replaceAll("两", "二")) {
    const power = powers[each];
    if (power === undefined) digit = numerals.indexOf(each);
    else if (power === 10_000) [whole, part, digit] = [(whole + part + digit) * power, 0, 0];
    else [part, digit] = [part + Math.max(digit, 1) * power, 0];
  }
  return String(whole + part + digit);
}
