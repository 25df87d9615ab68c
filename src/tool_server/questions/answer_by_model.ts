import { createDeadline } from "../../core/async/deadline.ts";
import { createQueue } from "../../core/async/queue.ts";
import { yieldToEventLoop } from "../../core/async/yield.ts";
import type { Principal } from "../../core/principal.ts";
import { spanned } from "../../core/tracing.ts";
import type { Completion, CompletionProvider, Usage } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import type { CatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { refusedError, type StatementError } from "../../postgres/read/statement_error.ts";
import type { CheckScheduler } from "../../postgres/guard/check_scheduler.ts";
import { planStatement } from "../../postgres/read/explain.ts";
import { type Answer, type AnswerQuestion, type Question, runStatement } from "./answer.ts";
import { withAnswer } from "./ask_user.ts";
import { buildPrompt, createMarks, type Prompt, repairMessages } from "./build_prompt.ts";
import { type History, historyDatabase, type HistoryEntry, historyOwner } from "./history.ts";
import { type Knowledge, promptKnowledge } from "./prompt_knowledge.ts";
import { readModelReply } from "./read_model_reply.ts";
import { excerptSchema } from "./schema/schema_excerpt.ts";
import type { SchemaIndex } from "./schema/schema_index.ts";

export interface AnswerByModelOptions {
  readonly completion: CompletionProvider;
  readonly schemas: CatalogCache<SchemaIndex>;
  readonly guard: Pick<CheckScheduler, "check">;
  readonly history: History;
  /** What an administrator wrote down about the databases, as it is at this moment; absent or undefined: nothing. */
  readonly knowledge?: (() => Knowledge | undefined) | undefined;
  /** Tokens of a prompt that describe tables, with what was written down about them. */
  readonly schemaTokens: number;
  /** Plans that PostgreSQL estimates above this are refused. Optional: without it, none are. */
  readonly maxPlanCost?: number;
  /**
   * Milliseconds from the start of the first completion to the end of the last repair; 0 or absent: no limit. The
   * first completion is left to the provider's own limits: where it hangs, they lead to the next provider and count
   * it as down.
   */
  readonly answerTimeoutMs?: number;
  /** Told what the model used for a caller. Optional: without it, nobody asks. */
  readonly onUsage?: ((principal: Principal, usage: Usage) => void) | undefined;
  readonly now: () => number;
}

/** How often a statement that failed goes back to the model. */
const maxRepairs = 3;
const historyTokens = 2_000;

/**
 * Has a model write a statement for a request, from the part of the catalog that fits it and the caller's history. A
 * statement that is refused, cannot be planned or fails while it runs goes back with what is wrong, three times at
 * most. An answer, or a question back, goes into the caller's history.
 */
export function createAnswerByModel(options: AnswerByModelOptions): AnswerQuestion {
  const { completion, schemas, history, knowledge, schemaTokens, answerTimeoutMs = 0, onUsage, now } =
    options;
  const schemaMark = createMarks();
  const queue = createQueue();

  // one at a time: writing the prompts of many requests at once would delay all other work
  function writePrompt(
    asked: Question,
    index: SchemaIndex,
    recent: readonly HistoryEntry[],
  ): Promise<Prompt> {
    return queue.run(async () => {
      await yieldToEventLoop();
      const { text: question, database } = asked;
      const { tables } = index.catalog;
      const known = promptKnowledge(knowledge?.(), asked, { tables, maxTokens: schemaTokens });
      const excerpt = excerptSchema(index, {
        question,
        recentStatements: recent.flatMap(({ reply }) => reply.kind === "statement" ? [reply.sql] : []),
        meantTables: known.tables,
        maxTokens: schemaTokens - known.tokens,
      });
      return buildPrompt({
        question,
        excerpt,
        models: known.models,
        examples: known.examples,
        history: recent,
        database: database.name,
        session: index.session,
        now: new Date(now()),
        maxHistoryTokens: historyTokens,
        schemaMark,
      });
    });
  }

  async function converse(question: Question, recent: readonly HistoryEntry[]): Promise<Answer> {
    const { database, principal, signal, logger, span, onStep } = question;
    onStep?.("catalog");
    const index = await spanned(span, "catalog", () => schemas.get(database, { principal, signal }));
    const prompt = await writePrompt(question, index, recent);
    let { messages } = prompt;
    const reason = () =>
      new ProviderError("timeout", `the model wrote no statement that runs within ${answerTimeoutMs} ms`);
    using deadline = createDeadline(answerTimeoutMs, { signal, reason });
    for (let repairs = 0;; repairs++) {
      onStep?.("model");
      const reply = await completion.complete({
        system: prompt.system,
        messages,
        signal: repairs === 0 ? signal : deadline.signal,
        span,
        onUsage: onUsage && ((usage) => onUsage(principal, usage)),
      });
      const { answer, error } = await answerFromReply(question, reply, options);
      if (error === undefined || repairs === maxRepairs) return answer;
      logger.debug("Sending a model's reply back for correction", {
        provider: completion.name,
        repairs: repairs + 1,
        sqlState: error.sqlState,
      });
      if (unknownNames.includes(error.sqlState)) {
        // the model may have been shown a catalog that is out of date
        const fresh = await schemas.recheck(database, { principal, signal });
        if (fresh !== index) ({ messages } = await writePrompt(question, fresh, recent));
      }
      messages = repairMessages(messages, reply.text, error);
    }
  }

  return async (asked) => {
    // the question back itself is in the history
    const question = { ...asked, text: withAnswer(asked.text, asked.userAnswer) };
    const owner = historyOwner(question.principal);
    const { text } = question;
    const database = historyDatabase(question.database, question.principal);
    const { entries, generation } = await history.recent(owner, database);
    const answer = await converse(question, entries);
    if (answer.kind === "rows" || answer.kind === "question") {
      const reply = answer.kind === "rows" ? { kind: "statement", sql: answer.sql } as const : answer;
      await history.add(owner, { database, question: text, reply, at: now() }, generation);
    }
    return answer;
  };
}

/** Reads a model's reply, and runs the statement that it holds. `error`: something that the model can do better. */
async function answerFromReply(
  question: Question,
  completion: Completion,
  options: Pick<AnswerByModelOptions, "guard" | "maxPlanCost">,
): Promise<{ readonly answer: Answer; readonly error?: StatementError }> {
  const { principal, signal, span } = question;
  const reply = await readModelReply(completion, async (sql) => {
    const check = await options.guard.check(sql, { principal, signal, span });
    return check.ok || check.sqlState !== "42601";
  });
  if (reply.kind === "question") return { answer: reply };
  if (reply.kind !== "statement") {
    const { reason, message } = withoutStatement[reply.kind];
    return {
      answer: { kind: "refused", reason: `Cannot answer the request: ${reason}` },
      error: { kind: "refused", message },
    };
  }
  const answer = await tryStatement(question, reply.sql, options);
  // the model cannot correct a timeout or a cancelled call
  return answer.kind === "failed" && (answer.error.kind === "refused" || answer.error.kind === "failed")
    ? { answer, error: answer.error }
    : { answer };
}

/** Guards and plans a statement that a model wrote, and runs it where its estimated cost allows. */
async function tryStatement(
  question: Question,
  sql: string,
  { guard, maxPlanCost }: Pick<AnswerByModelOptions, "guard" | "maxPlanCost">,
): Promise<Answer> {
  const { database, principal, signal, span, onStep } = question;
  onStep?.("plan");
  // before EXPLAIN, because its errors would point into our EXPLAIN statement
  const check = await guard.check(sql, { principal, signal, span });
  if (!check.ok) return { kind: "failed", sql, error: refusedError(sql, check) };
  if (check.kind !== "select") {
    const message = "only SELECT, VALUES, TABLE and WITH of those can answer a request";
    return { kind: "failed", sql, error: { kind: "refused", message } };
  }
  const plan = await planStatement(database, { principal, sql, signal, span });
  if (!plan.ok) return { kind: "failed", sql, error: plan.error };
  const { estimate } = plan;
  if (maxPlanCost !== undefined && estimate !== undefined && estimate.totalCost > maxPlanCost) {
    const { node, cost, rows } = estimate.dearest;
    const reason =
      `Cannot run the statement: PostgreSQL estimates its cost at ${rounded(estimate.totalCost)}, above ` +
      `llm.max_plan_cost (${rounded(maxPlanCost)}); ${rounded(cost)} of it is ${node}, about ${
        rounded(rows)
      } rows. ` +
      `Ask for less, for example for a shorter period or for one customer\n\nSQL Query:\n${sql}`;
    return { kind: "refused", reason };
  }
  onStep?.("run");
  return await runStatement(question, sql);
}

function rounded(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** For a reply without a statement: `reason` goes to the caller, `message` to the model. */
const withoutStatement = {
  none: {
    reason: "the provider wrote no statement",
    message: "the reply holds neither a statement in a ```sql block nor a line that starts with QUESTION:",
  },
  cut: {
    reason: "the provider's answer was cut off at the length that llm.max_tokens allows",
    message: "the answer was cut off at the length limit; write a shorter one",
  },
  used_up: {
    reason:
      "the provider used the length that llm.max_tokens allows before it wrote an answer; a model that thinks " +
      "first needs more",
    message: "the length limit was reached before the answer; think less, and write only the answer",
  },
  empty: {
    reason: "the provider's answer was empty",
    message: "the reply is empty; write a statement or a question back",
  },
} as const;

/** SQLSTATE of an undefined column, table, function, object and schema. */
const unknownNames: readonly (string | undefined)[] = ["42703", "42P01", "42883", "42704", "3F000"];
