import type { CompletionProvider } from "../llm/provider.ts";
import type { CatalogCache } from "../postgres/catalog_cache.ts";
import type { StatementError } from "../postgres/database.ts";
import type { StatementGuard } from "../postgres/statement_guard.ts";
import type { Answer, AnswerQuestion, Question } from "./answer.ts";
import { buildPrompt, repairMessages } from "./build_prompt.ts";
import { readReply } from "./read_reply.ts";
import { excerptSchema } from "./schema_excerpt.ts";
import type { SchemaIndex } from "./schema_index.ts";
import { type StatementRun, tryStatement } from "./try_statement.ts";
import { turnOwner } from "./turn_owner.ts";
import type { Turn, TurnStore } from "./turns.ts";

export interface AnswerByModelOptions {
  readonly completion: CompletionProvider;
  readonly schemas: CatalogCache<SchemaIndex>;
  readonly guard: StatementGuard;
  readonly turns: TurnStore;
  /** Tokens of a prompt that describe tables. */
  readonly schemaTokens: number;
  /** Plans that PostgreSQL estimates above this are refused; absent: none are. */
  readonly maxPlanCost?: number;
  readonly now: () => number;
}

/** How often a statement that failed goes back to the model. */
const maxRepairs = 3;
const historyTokens = 2_000;

/**
 * Has a model write a statement for a request, from the part of the catalog that fits it and the caller's last turns.
 * A statement that is refused, cannot be planned or fails while it runs goes back with PostgreSQL's words, three times
 * at most. An answer, or a question back, becomes one of the caller's turns.
 */
export function createAnswerByModel(options: AnswerByModelOptions): AnswerQuestion {
  const { completion, schemas, guard, turns, maxPlanCost, now } = options;
  const parses = (sql: string) => {
    const verdict = guard.check(sql);
    return verdict.ok || verdict.sqlState !== "42601";
  };

  function prompt({ text, database }: Question, index: SchemaIndex, recent: readonly Turn[]) {
    const excerpt = excerptSchema(index, {
      question: text,
      recentStatements: recent.flatMap(({ reply }) => reply.kind === "statement" ? [reply.sql] : []),
      maxTokens: options.schemaTokens,
    });
    return buildPrompt({
      question: text,
      excerpt,
      turns: recent,
      database: database.name,
      now: new Date(now()),
      maxHistoryTokens: historyTokens,
    });
  }

  async function converse(question: Question, recent: readonly Turn[]): Promise<Answer> {
    const { database, principal, signal, logger } = question;
    const index = await schemas.get(database, { principal, signal });
    const { system, messages: first } = prompt(question, index, recent);
    let messages = first;
    for (let repairs = 0;; repairs++) {
      const { text } = await completion.complete({ system, messages, signal });
      const reply = readReply(text, parses);
      if (reply.kind === "question") return reply;
      const run: StatementRun = reply.kind === "none"
        ? { kind: "failed", error: noStatement, fromRows: false }
        : await tryStatement(question, reply.sql, maxPlanCost);
      const sql = reply.kind === "none" ? "" : reply.sql;
      if (run.kind === "rows") return { ...run, sql };
      if (run.kind === "refused") return run;
      if (!isRepairable(run.error) || repairs === maxRepairs) return failed(sql, run.error);
      logger.debug("A model's statement goes back to it", {
        provider: completion.name,
        repairs: repairs + 1,
        sqlState: run.error.sqlState,
      });
      if (isUnknownName(run.error)) {
        // the model may have been shown a catalog that is out of date
        const fresh = await schemas.recheck(database, { principal, signal });
        if (fresh !== index) messages = prompt(question, fresh, recent).messages;
      }
      messages = repairMessages(messages, text, run.fromRows ? withoutValues(run.error) : run.error);
    }
  }

  return async (question) => {
    const owner = turnOwner(question.principal);
    const { name } = question.database;
    const answer = await converse(question, turns.recent(owner, name));
    const reply = asReply(answer);
    if (reply !== undefined) turns.add(owner, { database: name, question: question.text, reply, at: now() });
    return answer;
  };
}

const noStatement: StatementError = {
  kind: "refused",
  message: "the reply holds neither a statement in a ```sql block nor a line that starts with QUESTION:",
};

/** What a row held stays here, as PostgreSQL quotes it: `invalid input syntax for type date: "…"`. */
function withoutValues(error: StatementError): StatementError {
  return { ...error, message: error.message.replace(/".*"/s, '"…"') };
}

function failed(sql: string, error: StatementError): Answer {
  if (sql !== "") return { kind: "failed", sql, error };
  return { kind: "refused", reason: "Cannot answer the request: the provider wrote no statement" };
}

/** What a model can do something about; a statement that ran out of time or was cancelled is the caller's. */
function isRepairable({ kind }: StatementError): boolean {
  return kind === "refused" || kind === "failed";
}

/** SQLSTATE of an undefined column, table, function, object and schema. */
const unknownNames: readonly (string | undefined)[] = ["42703", "42P01", "42883", "42704", "3F000"];

function isUnknownName({ sqlState }: StatementError): boolean {
  return unknownNames.includes(sqlState);
}

function asReply(answer: Answer): Turn["reply"] | undefined {
  if (answer.kind === "rows") return { kind: "statement", sql: answer.sql };
  return answer.kind === "question" ? answer : undefined;
}
