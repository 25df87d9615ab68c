import { quoteLiteral } from "../../postgres/sql_text.ts";

/**
 * The one form in which letters are compared: SQL over a text, in what every PostgreSQL has. The accents of Latin, Greek,
 * Arabic and Hebrew letters are gone, and so is what tells Russian's ё from е.
 */

/** The scripts that put no blanks between words, and Korean, which joins words to others: Thai, Lao, Myanmar, Khmer, kana, Han. */
const unspacedRanges = [
  "\\u0E01-\\u0E3A\\u0E40-\\u0E4E\\u0E80-\\u0ECE\\u1000-\\u103F\\u1050-\\u108F\\u1100-\\u11FF\\u1780-\\u17D3",
  "\\u3005-\\u3007\\u3041-\\u3096\\u309D-\\u30FA\\u30FC-\\u30FF\\u3130-\\u318E\\u3400-\\u4DBF\\u4E00-\\u9FFF",
  "\\uAC00-\\uD7A3\\uF900-\\uFAFF\\U00020000-\\U0003FFFF",
].join("");
/** A regular expression for a letter of these. */
export const unspaced = `[${unspacedRanges}]`;
/** A regular expression for any other letter or mark. */
export const spacedLetter =
  "[^[:space:]!-@[-`{-~\\u0080-\\u00B4\\u00B6-\\u00BF\\u0E01-\\u0ECE\\u1000-\\u109F\\u1100-\\u11FF\\u1780-\\u17D3\\u2000-\\u2BFF\\u2E00-\\U0010FFFF]";

/** Accents and vowel points, but not the breve of й. */
const marks = quoteLiteral(
  "[\\u0300-\\u0305\\u0307-\\u036F\\u0591-\\u05BD\\u05BF\\u05C1\\u05C2\\u05C4\\u05C5\\u0640\\u064B-\\u0655\\u0670]|(?<!и)\\u0306",
);

const compatible = quoteLiteral("[\\uFB00-\\uFB06\\uFF00-\\uFFEF]");

/** A text with each letter in one piece: wide letters and digits of East Asia, and ligatures of printed texts, as usual ones. */
export function readableSql(text: string): string {
  return `(SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    WHEN t COLLATE "C" ~ ${compatible} THEN normalize(t, NFKC) ELSE normalize(t, NFC) END
    FROM (SELECT ${text} AS t OFFSET 0) t)`;
}

/** A text in small letters without accents. */
export function foldSql(text: string): string {
  const letters = "translate(replace(t, 'ß', 'ss'), 'æœøłđıð', 'aooldid')";
  return `(SELECT CASE WHEN octet_length(t) = length(t) OR getdatabaseencoding() <> 'UTF8' THEN t
    ELSE normalize(regexp_replace(normalize(${letters}, NFD) COLLATE "C", ${marks}, '', 'g'), NFC) END
    FROM (SELECT ${text} AS t OFFSET 0) t)`;
}

/**
 * A folded text in which ae, oe and ue are a, o and u, as German writes ä, ö and ü where it has no such letters. Not
 * behind a, e or q, where they are no such letters in any language: "Frauen", "neue", "queen".
 */
export function collapseSql(text: string): string {
  return `regexp_replace(${text} COLLATE "C", '(^|[^aeq])([aou])e', ${quoteLiteral("\\1\\2")}, 'g')`;
}

/** A text with a blank for what is written without any. */
export function spacedSql(text: string): string {
  return `regexp_replace(${text} COLLATE "C", ${quoteLiteral(`${unspaced}+`)}, ' ', 'g')`;
}

/** A `tsvector` with all its words in this form. What was nothing but a mark is none. */
export function foldVectorSql(vector: string): string {
  const folded = collapseSql(foldSql(`(${vector})::text`));
  return `regexp_replace(${folded}, ${quoteLiteral("(^| )''(?!')[^ ]*")}, '', 'g')::tsvector`;
}
