import assert from "node:assert/strict";
import { askNewPassword, type PasswordInput } from "../../src/cli/ask_at_terminal.ts";

/** Hands out bytes a few at a time; what it is told goes into `events`. */
function inputOf(text: string | Uint8Array, isTerminal: boolean, events: string[]): PasswordInput {
  let rest = typeof text === "string" ? new TextEncoder().encode(text) : text;
  return {
    isTerminal: () => isTerminal,
    setRaw: (raw) => void events.push(raw ? "raw" : "cooked"),
    read: (buffer) => {
      if (rest.length === 0) return Promise.resolve(null);
      const count = Math.min(buffer.length, rest.length);
      buffer.set(rest.subarray(0, count));
      rest = rest.subarray(count);
      return Promise.resolve(count);
    },
  };
}

async function ask(text: string | Uint8Array, isTerminal: boolean) {
  const events: string[] = [];
  const password = await askNewPassword("alice", {
    input: inputOf(text, isTerminal, events),
    write: (written) => events.push(written),
  });
  return { password, events };
}

Deno.test("at a terminal the password is asked for twice and not shown", async () => {
  assert.deepEqual(await ask("correct horse\rcorrect horse\r", true), {
    password: "correct horse",
    events: ["raw", "Password for alice: ", "cooked", "\n", "raw", "The same again: ", "cooked", "\n"],
  });
});

const typed: [title: string, keys: string][] = [
  ["the delete key", "correct hox\x7frse\r"],
  ["the delete key and characters of several bytes", "correct hoé😀\x7f\x7frse\r"],
  ["the delete key more often than there are characters", "ab\x7f\x7f\x7f\x7fcorrect horse\r"],
  ["backspace", "correct hox\brse\r"],
  ["Ctrl-U", "nonsense\x15correct horse\r"],
  ["arrow keys", "correct\x1b[A\x1b[1;5C horse\x1bOA\r"],
  ["a line feed", "correct horse\n"],
];
for (const [title, keys] of typed) {
  Deno.test(`at a terminal ${title} does what it says`, async () => {
    assert.equal((await ask(keys + keys, true)).password, "correct horse");
  });
}

const refused: [title: string, text: string | Uint8Array, isTerminal: boolean, message: string][] = [
  ["two that differ", "one\rtwo\r", true, "Cannot set the password: the two are not the same"],
  ["Ctrl-C", "one\x03", true, "Cannot read the password: none was given"],
  ["Ctrl-D", "\x04", true, "Cannot read the password: none was given"],
  ["a terminal that goes away", "one", true, "Cannot read the password: none was given"],
  ["an empty pipe", "", false, "Cannot read the password: none was given"],
  [
    "what is not UTF-8",
    new Uint8Array([0xff, 0x0a]),
    false,
    "Cannot read the password: it is not UTF-8 text",
  ],
];
for (const [title, text, isTerminal, message] of refused) {
  Deno.test(`askNewPassword() refuses ${title}`, async () => {
    await assert.rejects(ask(text, isTerminal), { name: "AppError", code: "invalid", message });
  });
}

Deno.test("a terminal is left as it was whatever happens", async () => {
  const events: string[] = [];
  await assert.rejects(
    askNewPassword("alice", { input: inputOf("\x03", true, events), write: () => {} }),
  );
  assert.deepEqual(events, ["raw", "cooked"]);
});

const piped: [text: string, password: string][] = [
  ["correct horse\n", "correct horse"],
  ["correct horse\r\n", "correct horse"],
  ["correct horse", "correct horse"],
  [" correct\x7f\x15 horse \nsecond line\n", " correct\x7f\x15 horse "],
  ["\n", ""],
];
for (const [text, password] of piped) {
  Deno.test(`from a pipe the first line of ${JSON.stringify(text)} is the password, and nothing is asked`, async () => {
    assert.deepEqual(await ask(text, false), { password, events: [] });
  });
}
