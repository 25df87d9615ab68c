import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { requireText } from "../../src/llm/read_completion.ts";
import { noUsage } from "../../src/llm/provider.ts";
import { errorOf, never } from "./exchange_fixture.ts";
import { end, scriptedProvider, text } from "./scripted_provider.ts";

const request = { messages: [], signal: never };
const cut = { type: "end", usage: noUsage, isCut: true } as const;

Deno.test("a cut answer that was all thinking is an error, one with a text is not", async () => {
  const all = requireText(scriptedProvider("p", [cut]), silentLogger);
  for (const failed of [all.complete(request), Array.fromAsync(all.stream(request))]) {
    const { kind, noAnswer, detail } = await errorOf(failed);
    assert.deepEqual([kind, noAnswer], ["provider", "empty"]);
    assert.match(detail, /raise max_tokens$/);
  }
  const some = requireText(scriptedProvider("p", [text("Half"), cut]), silentLogger);
  assert.equal((await some.complete(request)).text, "Half");
  assert.deepEqual(await Array.fromAsync(some.stream(request)), [text("Half"), cut]);
  await requireText(scriptedProvider("p", [end()]), silentLogger).ping(never);
});
