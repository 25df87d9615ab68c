import { AppError } from "../../core/app_error.ts";
import type { SqlText } from "../../postgres/sql_text.ts";
import { pgSearchSql, textSearchSql, vchordSql } from "./extension_sql.ts";
import type { KeywordIndex, KeywordQuestion } from "./keyword_index.ts";
import { ownIndexSql } from "./own_index_sql.ts";
import { plainTextSql } from "./plain_text_sql.ts";

/** The longest answer of the keyword arm, in rows. */
export const keywordLimit = 400;

/**
 * The statement that ranks a table's rows by a question's words: any of them, never all. It gives rows of `id` (text) and
 * `score` (float8, above 0), best first, ties in order of id, and none for a question without a word that ranks. It
 * runs alone or as a part of another statement.
 *
 * @throws {AppError} `invalid` for a limit that is not from 1 to 400
 */
export function keywordArm(index: KeywordIndex, question: KeywordQuestion): SqlText {
  const { limit } = question;
  if (!Number.isInteger(limit) || limit < 1 || limit > keywordLimit) {
    throw new AppError("invalid", `Cannot rank by keywords: the limit is not from 1 to ${keywordLimit}`);
  }
  // PostgreSQL has no place for it in a text
  const asked = { ...question, question: question.question.replaceAll("\0", " ") };
  switch (index.kind) {
    case "postern":
      return ownIndexSql(index, asked);
    case "pg_textsearch":
      return textSearchSql(index, asked);
    case "pg_search":
      return pgSearchSql(index, asked);
    case "vchord_bm25":
      return vchordSql(index, asked);
    case "tsvector":
      return plainTextSql(index, asked);
  }
}
