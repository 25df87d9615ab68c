import { isFunctionWord, words } from "../../text/words.ts";
import { joinSql, sql, type SqlText, verbatim } from "../../postgres/sql_text.ts";
import { foldSql, readableSql } from "./fold_sql.ts";
import { maxTextLength } from "./term_sql.ts";

/** What a question says besides its words. */
export interface AskedOperators {
  /** The question without what it excludes. */
  readonly text: string;
  /** Texts in quotes: documents that have them all come first and alone, where there are any. */
  readonly phrases: readonly string[];
  /** What stands behind a hyphen, as in `jaguar -car`: no document with it is found. */
  readonly excluded: readonly string[];
}

const maxOperators = 8;
const before = String.raw`(?<![^\s([{¿¡])`;
const after = String.raw`(?![\p{L}\p{N}])`;
/** Quotes in which a text may stand; single ones are apostrophes as well, and those behind a digit inches. */
const quoted = String
  .raw`"(?! )[^"\n]{1,200}(?<! )"${after}|[“„](?! )[^“”„\n]{1,200}[“”]|«[^«»\n]{1,200}»|「[^「」\n]{1,200}」`;
const exclusion = new RegExp(
  `${before}-(${quoted}|[cC](?:#|[+]{2})|\\p{L}[\\p{L}\\p{M}\\p{N}]+(?:[-_./][\\p{L}\\p{M}\\p{N}]+)*)`,
  "gu",
);
/** The languages whose names end with signs. */
const signed = /(?<![\p{L}\p{N}])[cC](?:#|[+]{2})/u;
const phrase = new RegExp(`${before}(?:${quoted})|「[^「」\\n]{1,200}」`, "gu");

/**
 * Reads a question as search engines do. A hyphen counts only before a word and behind a blank, and not where nothing but
 * function words would be left, as of "What does -v do?".
 */
export function readOperators(asked: string): AskedOperators {
  // PostgreSQL has no place for NUL in a text
  const question = asked.replaceAll("\0", " ");
  const rest = question.replace(exclusion, " ");
  const tellsSomething = words(rest).some((word) => !isFunctionWord(word)) || signed.test(rest);
  const text = tellsSomething ? rest : question;
  const found = (from: string, expression: RegExp, group: number) =>
    Array.from(from.matchAll(expression), (match) => match[group] ?? "")
      .filter((one) => words(one).length > 0).slice(0, maxOperators);
  const excluded = tellsSomething ? found(question, exclusion, 1) : [];
  return { text, phrases: found(text, phrase, 0), excluded };
}

const blank = String.raw`[[:space:]!-/:-@[-\u0060{-~\u0080-\u00BF\u2000-\u206F\u3000-\u303F]`;
const noBlank = blank.replace("[", "[^");
const isUnspaced =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

/** Whether a text has all phrases, as SQL: their words next to each other, whatever their case, accents, and signs between. */
export function phrasesSql(phrases: readonly string[], text: string): SqlText {
  return inFoldedSql(joinSql(phrases.map(hasPhraseSql), " AND "), text);
}

/** Signs within a word that PostgreSQL's parser may take for a part of it. */
const joints = verbatim("'-/.+~_', '      '");

/**
 * Whether a text has any of some words, as SQL: in any of their forms, where their script has blanks. For texts of which no
 * index knows the words: each is analysed once, whatever the number of words.
 */
export function anyWordSql(words: readonly string[], text: string, config: string): SqlText {
  const to = (make: string, of: SqlText) =>
    sql`${verbatim(`${make}(${config}::regconfig, `)}translate(${of}, ${joints}))`;
  const queries = words.filter((word) => !isUnspaced.test(word))
    .map((word) => to("phraseto_tsquery", folded(sql`${word}::text`)));
  const found = words.filter((word) => isUnspaced.test(word)).map(hasPhraseSql);
  if (queries.length > 0) {
    found.unshift(sql`${to("to_tsvector", verbatim("t.folded"))} @@ (${joinSql(queries, " || ")})`);
  }
  return inFoldedSql(joinSql(found, " OR "), text);
}

function hasPhraseSql(phrase: string): SqlText {
  const found = (phrase.match(/(?<![\p{L}\p{N}])[cC](?:#|[+]{2})|[\p{L}\p{M}\p{N}]+/gu) ?? [])
    .map((word) => word.replace("++", "[+][+]"));
  const isOpen = (letter: string | undefined) => letter === undefined || isUnspaced.test(letter);
  const start = isOpen(found[0]?.[0]) ? "" : `(?<!${noBlank})`;
  const end = isOpen(found.at(-1)?.at(-1)) ? "" : `(?!${noBlank})`;
  const pattern = `${start}${found.join(`${blank}+`)}${end}`;
  return sql`${verbatim("t.folded")} ~ ${folded(sql`${pattern}`)}`;
}

/** A condition on a text's folded form, which it names as `t.folded`. */
function inFoldedSql(condition: SqlText, text: string): SqlText {
  const form = folded(verbatim(`left(${text}, ${maxTextLength})`));
  return sql`(SELECT ${condition} FROM (SELECT ${form} AS folded OFFSET 0) t)`;
}

function folded(text: SqlText): SqlText {
  const [head = "", tail = ""] = foldSql(`lower(${readableSql("@")} COLLATE "default")`).split("@");
  return sql`${verbatim(head)}${text}${verbatim(tail)} COLLATE "C"`;
}
