import type { Logger } from "../../core/logger.ts";
import type { Database, ReadRequest, ReadResult } from "../../postgres/database.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";
import type { Step } from "../call_context.ts";
import { type History, historyDatabase, historyOwner } from "./history.ts";
import type { Knowledge } from "./prompt_knowledge.ts";

/** A request in words, and what its rows are bounded by. */
export interface Question extends Pick<ReadRequest, "principal" | "signal" | "span"> {
  readonly text: string;
  /** What the caller's user answered to a question back about the same text; from outside. */
  readonly userAnswer?: string | undefined;
  readonly database: Database;
  readonly maxRows: number;
  readonly offset: number;
  readonly logger: Logger;
  /** Told of each step as it begins. */
  readonly onStep?: ((step: Step) => void) | undefined;
}

/** A question that an administrator wrote down, as it was asked. */
export interface VerifiedUse {
  /** Its own words, with its arguments as in `{country}`. */
  readonly question: string;
  /** The values of its arguments by their names, in the order in which the statement has them as `$1` and on. */
  readonly arguments: Readonly<Record<string, string>>;
}

/** `verified` is there where the statement is that of a verified question. */
export type StatementAnswer =
  & (
    | { readonly kind: "rows"; readonly sql: string; readonly result: ReadResult & { readonly ok: true } }
    | { readonly kind: "failed"; readonly sql: string; readonly error: StatementError }
  )
  & { readonly verified?: VerifiedUse };

export type Answer =
  | StatementAnswer
  /** The request can mean several things, or needs what the database does not have. */
  | { readonly kind: "question"; readonly text: string }
  | { readonly kind: "refused"; readonly reason: string };

/**
 * Answers a request in words with the rows of a statement.
 *
 * @throws {ProviderError} where the completion provider fails
 * @throws {AppError} `unavailable` where the database cannot be reached
 */
export type AnswerQuestion = (question: Question) => Promise<Answer>;

/** Answers a question with the rows of one statement, which the values stand in as `$1` and on. */
export async function runStatement(
  { database, principal, maxRows, offset, signal, span }: Question,
  sql: string,
  parameters: readonly string[] = [],
): Promise<StatementAnswer> {
  const result = await database.read({ principal, sql, parameters, signal, span, maxRows, offset });
  return result.ok ? { kind: "rows", sql, result } : { kind: "failed", sql, error: result.error };
}

export type VerifiedAnswers = ReturnType<typeof createVerifiedAnswers>;

const mostNear = 3;

/** Answers requests in words by the statements of verified questions. */
export function createVerifiedAnswers({ knowledge, history, now }: {
  /** That of this moment; undefined where nothing was written down. */
  readonly knowledge: () => Pick<Knowledge, "questions"> | undefined;
  /** Optional: none where nobody reads what was asked before. */
  readonly history?: History | undefined;
  readonly now: () => number;
}) {
  return {
    /**
     * The rows of the question that a request asks; undefined where it asks none. The statement runs as it was written, with
     * the request's values bound: nothing of a request becomes SQL.
     *
     * @throws {AppError} `unavailable` where the database cannot be reached
     */
    async answer(question: Question): Promise<StatementAnswer | undefined> {
      const { text, userAnswer, database: { name }, principal } = question;
      // what a user added may be one condition more
      const match = userAnswer === undefined
        ? knowledge()?.questions.match(text, name, principal)
        : undefined;
      if (match === undefined) return undefined;
      const { question: { name: verifiedAs, sql, arguments: its }, values } = match;
      const verified: VerifiedUse = {
        question: verifiedAs,
        arguments: Object.fromEntries(its.map((argument, at) => [argument.name, values[at] ?? ""])),
      };
      const owner = historyOwner(principal);
      const historyOf = historyDatabase(question.database, principal);
      const before = history?.recent(owner, historyOf);
      question.onStep?.("run");
      const answer = await runStatement(question, sql, values);
      // a further page is no further request
      if (answer.kind === "rows" && before !== undefined && question.offset === 0) {
        const reply = { kind: "statement", sql: withValues(sql, values) } as const;
        const { generation } = await before;
        await history?.add(owner, { database: historyOf, question: text, reply, at: now() }, generation);
      }
      return { ...answer, verified };
    },

    /** What its caller may ask that is nearest to a request, as texts that can be asked as they are. */
    nearest({ text, database, principal }: Question): string[] {
      return knowledge()?.questions.askable(text, database.name, principal, mostNear, now()) ?? [];
    },
  };
}

/** For a model that reads it later: what stood in the places of `$1` and on. */
function withValues(sql: string, values: readonly string[]): string {
  if (values.length === 0) return sql;
  return `${sql}\n-- ${values.map((value, at) => `$${at + 1} was ${JSON.stringify(value)}`).join(", ")}`;
}
