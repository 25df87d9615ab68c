import assert from "node:assert/strict";
import {
  askModelsQuestion,
  readUserAnswer,
  withAnswer,
} from "../../../src/tool_server/questions/ask_user.ts";

const accepted = (content: unknown) => ({ action: "accept", content });

Deno.test("readUserAnswer() takes the answer to the last question", () => {
  assert.deepEqual(readUserAnswer(undefined), { kind: "unanswered", round: 0 });
  assert.deepEqual(readUserAnswer({ question_1: accepted({ answer: " by revenue " }) }), {
    kind: "answered",
    round: 1,
    text: "by revenue",
  });
  const both = {
    question_1: accepted({ answer: "one" }),
    question_2: accepted({ choice: "two", answer: "three" }),
  };
  assert.deepEqual(readUserAnswer(both), { kind: "answered", round: 2, text: "two; three" });
});

Deno.test("readUserAnswer() believes nothing that comes from outside", () => {
  const none = { kind: "unanswered", round: 1 };
  for (
    const answer of [
      null,
      7,
      "SELECT 1",
      [],
      {},
      { action: "run" },
      { action: "accept" },
      accepted(null),
      accepted([]),
      accepted({ answer: 7 }),
      accepted({ answer: "  " }),
      accepted({ other: "by revenue" }),
    ]
  ) {
    assert.deepEqual(readUserAnswer({ question_1: answer }), none, JSON.stringify(answer));
  }
  assert.deepEqual(readUserAnswer({ question_9: accepted({ answer: "a" }), x: 1 }), {
    kind: "unanswered",
    round: 0,
  });
  const long = readUserAnswer({ question_1: accepted({ answer: "x".repeat(1001) }) });
  assert.deepEqual(long, {
    kind: "ended",
    reason: "Cannot use the answer to the question: it has 1001 characters, and at most 1000 are read",
  });
});

Deno.test("readUserAnswer() ends a call whose user declines or cancels", () => {
  const declined = readUserAnswer({ question_1: { action: "decline" } });
  assert.match(declined.kind === "ended" ? declined.reason : "", /the user declined to answer/);
  const cancelled = readUserAnswer({ question_2: { action: "cancel" } });
  assert.match(cancelled.kind === "ended" ? cancelled.reason : "", /the user closed the question/);
});

Deno.test("askModelsQuestion() says whose words they are, and asks three times at most", () => {
  const words = "Best by what?\n- revenue\n- number of orders\n\x1b[2J\u202e";
  assert.deepEqual(askModelsQuestion(words, { round: 0 }), {
    key: "question_1",
    message:
      "The model that writes the SQL statement asks, in its own words. Enter no passwords or keys.\n\n" +
      "Best by what?\n- revenue\n- number of orders\n[2J",
    form: {
      type: "object",
      properties: {
        choice: { type: "string", title: "Choice", enum: ["revenue", "number of orders"] },
        answer: { type: "string", title: "Or in your words", maxLength: 1000 },
      },
      required: [],
    },
  });
  const plain = askModelsQuestion("Which year?", { round: 2 });
  assert.equal(plain?.key, "question_3");
  assert.deepEqual(plain?.form.required, ["answer"]);
  assert.deepEqual(Object.keys(plain?.form.properties ?? {}), ["answer"]);
  assert.equal(askModelsQuestion("Which year?", { round: 3 }), undefined);
});

Deno.test("withAnswer() leaves a request without an answer as it is", () => {
  assert.equal(withAnswer("Who?", undefined), "Who?");
  assert.equal(withAnswer("Who?", "Ann"), "Who?\n\nTo what you asked: Ann");
});
