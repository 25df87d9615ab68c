import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import { createDeadline } from "../../core/async/deadline.ts";
import type { CompletionProvider } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import type { StatementError } from "../../postgres/database.ts";
import type { StatementChecks } from "../../postgres/guard/statement_checks.ts";
import type { Answer, AnswerQuestion, Question } from "./answer.ts";
import { buildPrompt, type Prompt, repairMessages } from "./build_prompt.ts";
import { errorForProvider } from "./error_for_provider.ts";
import { readReply, type Reply } from "./read_reply.ts";
import { excerptSchema } from "./schema/schema_excerpt.ts";
import { createMarks } from "./schema_mark.ts";
import type { SchemaIndex } from "./schema/schema_index.ts";
import { tryStatement } from "./try_statement.ts";
import { turnOwner } from "./history/turn_owner.ts";
import type { Turn, TurnStore } from "./history/turns.ts";

export interface AnswerByModelOptions {
  readonly completion: CompletionProvider;
  readonly schemas: CatalogCache<SchemaIndex>;
  readonly guard: Pick<StatementChecks, "check">;
  readonly turns: TurnStore;
  /** Tokens of a prompt that describe tables. */
  readonly schemaTokens: number;
  /** Plans that PostgreSQL estimates above this are refused; absent: none are. */
  readonly maxPlanCost?: number;
  /**
   * Milliseconds from the start of the first completion to the end of the last repair; 0 or absent: no limit. The first
   * completion is left to the provider's own limits: where it hangs, they lead to the next provider and count it as down.
   */
  readonly answerTimeoutMs?: number;
  readonly now: () => number;
}

/** How often a statement that failed goes back to the model. */
const maxRepairs = 3;
const historyTokens = 2_000;

/**
 * Has a model write a statement for a request, from the part of the catalog that fits it and the caller's last turns.
 * A statement that is refused, cannot be planned or fails while it runs goes back with what is wrong, three times at
 * most. An answer, or a question back, becomes one of the caller's turns.
 */
export function createAnswerByModel(options: AnswerByModelOptions): AnswerQuestion {
  const { completion, schemas, guard, turns, now } = options;
  const schemaMark = createMarks();
  const queue = createQueue();

  function prompt({ text, database }: Question, index: SchemaIndex, recent: readonly Turn[]): Prompt {
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
      session: index.session,
      now: new Date(now()),
      maxHistoryTokens: historyTokens,
      schemaMark,
    });
  }

  /** The prompts of many requests at once would else be made in one go. */
  function promptInTurn(question: Question, index: SchemaIndex, recent: readonly Turn[]): Promise<Prompt> {
    return queue.run(async () => {
      await yieldToEventLoop();
      return prompt(question, index, recent);
    });
  }

  async function attempt(question: Question, reply: Reply): Promise<Attempt> {
    if (reply.kind === "question") return { answer: reply };
    if (reply.kind !== "statement") return withoutStatement[reply.kind];
    const answer = await tryStatement(question, reply.sql, options);
    return answer.kind === "failed" && isRepairable(answer.error)
      ? { answer, fault: answer.error }
      : { answer };
  }

  async function parses({ principal, signal }: Question, sql: string): Promise<boolean> {
    const verdict = await guard.check(sql, { principal, signal });
    return verdict.ok || verdict.sqlState !== "42601";
  }

  async function converse(question: Question, recent: readonly Turn[]): Promise<Answer> {
    const { database, principal, signal, logger } = question;
    const index = await schemas.get(database, { principal, signal });
    const { system, messages: first } = await promptInTurn(question, index, recent);
    let messages = first;
    const { answerTimeoutMs = 0 } = options;
    const reason = () => new ProviderError("timeout", `no statement that runs within ${answerTimeoutMs} ms`);
    using deadline = createDeadline(answerTimeoutMs, { signal, reason });
    for (let repairs = 0;; repairs++) {
      const said = await completion.complete({
        system,
        messages,
        signal: repairs === 0 ? signal : deadline.signal,
      });
      const { answer, fault } = await attempt(
        question,
        await readReply(said, (sql) => parses(question, sql)),
      );
      if (fault === undefined || repairs === maxRepairs) return answer;
      logger.debug("A model's reply goes back to it", {
        provider: completion.name,
        repairs: repairs + 1,
        sqlState: fault.sqlState,
      });
      if (isUnknownName(fault)) {
        // the model may have been shown a catalog that is out of date
        const fresh = await schemas.recheck(database, { principal, signal });
        if (fresh !== index) messages = (await promptInTurn(question, fresh, recent)).messages;
      }
      messages = repairMessages(messages, said.text, errorForProvider(fault));
    }
  }

  return async (question) => {
    const owner = turnOwner(question.principal);
    const { name } = question.database;
    const generation = turns.generation(owner);
    const answer = await converse(question, turns.recent(owner, name));
    const reply = asReply(answer);
    const turn = { database: name, question: question.text, at: now() };
    if (reply !== undefined) turns.add(owner, { ...turn, reply }, generation);
    return answer;
  };
}

interface Attempt {
  readonly answer: Answer;
  /** Where there is something that the model can do better. */
  readonly fault?: StatementError;
}

const withoutStatement: Readonly<Record<"none" | "cut" | "used_up" | "empty", Attempt>> = {
  none: {
    answer: { kind: "refused", reason: "Cannot answer the request: the provider wrote no statement" },
    fault: {
      kind: "refused",
      message: "the reply holds neither a statement in a ```sql block nor a line that starts with QUESTION:",
    },
  },
  cut: {
    answer: {
      kind: "refused",
      reason: "Cannot answer the request: the provider's answer was cut at the longest length allowed, " +
        "which llm.max_tokens sets",
    },
    fault: {
      kind: "refused",
      message: "the answer was cut at the longest length allowed; write a shorter one",
    },
  },
  used_up: {
    answer: {
      kind: "refused",
      reason:
        "Cannot answer the request: the provider reached the longest answer allowed, which llm.max_tokens " +
        "sets, before it wrote any of it; a model that thinks first needs more",
    },
    fault: {
      kind: "refused",
      message:
        "the longest length allowed was reached before the answer; think less, and write the answer alone",
    },
  },
  empty: {
    answer: { kind: "refused", reason: "Cannot answer the request: the provider's answer was empty" },
    fault: { kind: "refused", message: "the reply is empty; write a statement or a question back" },
  },
};

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
