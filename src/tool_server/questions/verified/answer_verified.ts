import { type History, historyDatabase, historyOwner } from "../history.ts";
import { type Question, runStatement, type StatementAnswer, type VerifiedUse } from "../answer.ts";
import type { Knowledge } from "../prompt_knowledge.ts";

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
