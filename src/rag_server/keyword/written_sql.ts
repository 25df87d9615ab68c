import { quoteLiteral } from "../../postgres/sql_text.ts";
import { unspaced } from "./fold_sql.ts";

/** The beginnings of the months' names in eight languages, without accents, each before its month's number. */
const monthNumbers =
  "jan01ene01gen01янв01feb02fev02фев02mar03mae03maa03mrt03мар03apr04avr04abr04апр04may05mai05mei05mag05май05" +
  "мая05jun06giu06июн06jul07lug07июл07aug08aou08ago08авг08sep09set09сен09oct10okt10out10ott10окт10nov11ноя11dec12dez12dic12дек12";
const month = `(${monthNumbers.match(/\D+/g)?.join("|")}|juin|juil)[a-zа-я]*[.]?`;

/** The number of a month by its name, as SQL. French has juin and juillet. */
const monthSql = (name: string) =>
  `substr('${monthNumbers}', strpos('${monthNumbers}', left(replace(${name}, 'jui', 'ju'), 3)) + 3, 2)`;

const day = "([0-9]{1,2})";
const year = "([0-9]{4})(?![0-9])";
const letter = "a-zα-ωа-яђ-џґ";
const apart = `(?<![${letter}0-9])`;

/** Dates with day, month and year: a regular expression, and SQL for the three of its match `m`. */
const dates: readonly (readonly [expression: string, year: string, month: string, day: string])[] = [
  [
    `${day}(?:[.]|st|nd|rd|th|er|[º°])? ?(?:de |of )?${month},?(?: del?)? ${year}`,
    "m[3]",
    monthSql("m[2]"),
    "m[1]",
  ],
  [`${month} ${day}(?:st|nd|rd|th)?,? ${year}`, "m[3]", monthSql("m[1]"), "m[2]"],
  [`([0-9]{4})[-/.年]${day}[-/.月]${day}(?![0-9])`, "m[1]", "m[2]", "m[3]"],
  [`${day}[-/.] ?${day}[-/.] ?${year}`, "m[3]", "m[2]", "m[1]"],
  [`${day}/${day}/${year}`, "m[3]", "m[1]", "m[2]"],
];

/** Signs of units, in small letters; what else stands behind a number, as "of", is none. */
const unit =
  `(?:[kmgtµnpcdh]?(?:v|a|ah|w|wh|va|hz|bit|b|m|g|s|l|pa|n|nm|j|bar|cal)|[kmgt]ib|m[23]|km/?h|min|h|d|t|rpm|db|px|dpi|k|°?[cf]|lbs?|oz|ft|ω|%|€)`;

/** Bytes of a word that is written in one of these ways. A longer one, which a tsvector may have no room for, is none. */
const longestWord = 64;
/** Letters of a run that are read at once: a longer run is cut, since the cost of its pairs grows with its square. */
const longestRun = 200;
/** Single letters and pairs that are read: with those of 20,000 letters, any text's words fit into a tsvector. */
const mostLetters = 40_000;

/** Each way of writing as SQL for rows of `word` and `place`: a regular expression, and what it stands for in its match `m`. */
const ways = [
  ["([a-z](?:#|[+][+]))", "SELECT m[1]"],
  [
    `([${letter}0-9]+(?:[-_/\\u2010-\\u2013][${letter}0-9]+)+)`,
    `SELECT w FROM regexp_replace(m[1], '[^${letter}0-9]', '', 'g') w WHERE length(w) <= 32 AND w ~ '[0-9]' AND w ~ '[${letter}]'`,
  ],
  [
    `(?:([${letter}]{2,})([0-9]{2,})[${letter}]{0,2}|([0-9]+(?:[.,][0-9]+)?)([${letter}µ]{1,4}))(?![${letter}0-9])`,
    "SELECT w FROM unnest(m) w WHERE w IS NOT NULL",
  ],
  [
    `([0-9]+(?:[.,][0-9]+)?)[ \\u00A0\\u202F]?(${unit})(?![a-z0-9])`,
    "SELECT replace(m[1], ',', '.') || ltrim(m[2], '°')",
  ],
  ...dates.map(([expression, year, month, day]) => [
    expression,
    `SELECT concat_ws('-', ${year}, lpad(${month}, 2, '0'), lpad(${day}, 2, '0')) WHERE (${month})::int BETWEEN 1 AND 12`,
  ]),
].map(([expression, words]) => [quoteLiteral(apart + expression), words]).map(([expression, words]) =>
  `SELECT word, place, '' FROM regexp_matches(plain COLLATE "C", ${expression}, 'g') WITH ORDINALITY r(m, place)
      CROSS JOIN LATERAL (${words}) w(word) WHERE plain COLLATE "C" ~ '[0-9#+]'`
);

const unspacedRun = quoteLiteral(`${unspaced}{1,${longestRun}}`);

/** The first of these: SQL for rows of `word`, `place` and `weight`. */
const pairs =
  `(SELECT substr(run.m[1], i, n) AS word, run.place + i AS place, CASE n WHEN 1 THEN 'C' ELSE '' END AS weight
      FROM regexp_matches(plain COLLATE "C", ${unspacedRun}, 'g') WITH ORDINALITY run(m, place)
      CROSS JOIN generate_series(1, 2) n
      CROSS JOIN LATERAL generate_series(1, length(run.m[1]) + 1 - n) i
      WHERE octet_length(plain) > length(plain) LIMIT ${mostLetters})`;

const vectorOf = (rows: readonly string[]) =>
  `SELECT string_agg(quote_literal(w.word) || ':' || least(w.place, 16383) || w.weight, ' ')::tsvector
    FROM (${rows.join(" UNION ALL ")}) w WHERE octet_length(w.word) <= ${longestWord}`;

/**
 * What a text may say in several ways of writing, each in one form: SQL for a `tsvector` over `plain`, a text in small
 * letters without accents. These are
 *
 * - pairs of neighbouring letters in scripts without blanks between words, and single ones with weight C;
 * - C# and C++;
 * - codes without their hyphens, as AX204B for AX-204-B, and the letters and digits of RFC2616;
 * - a number and its unit, together and apart: 230 V as 230V, and the other way round;
 * - dates as 2024-05-17, by their numbers or their month's name. With slashes, both orders of day and month are meant.
 */
export const writtenSql = vectorOf([pairs, ...ways]);

/** The pairs and single letters of these alone: the others take a third of a text's analysis. */
export const pairsSql = vectorOf([pairs]);
