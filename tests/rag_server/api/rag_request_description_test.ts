import assert from "node:assert/strict";
import fc from "fast-check";
import { queryFaults } from "../../support/rag_api.ts";
import { condition, createAnswering, filtered } from "./rag_bodies.ts";

Deno.test("the description takes what the server takes, and refuses what it refuses", async () => {
  const bodies: [isTaken: boolean, body: Record<string, unknown>][] = [
    [true, { query: "q" }],
    [true, { query: "q", top_n: 100, stream: null, filter: null, messages: null }],
    [true, { query: "q", unknown: 1 }],
    [true, filtered(condition)],
    [true, {
      query: "q",
      filter: { conditions: [{ column: "a", operator: "IS NULL", value: null }], logic: null },
    }],
    [true, filtered({ column: "a", operator: "IN", value: Array(1000).fill("x") })],
    [true, { query: "𝄞".repeat(32_000) }],
    [false, { query: "𝄞".repeat(32_001) }],
    [false, {}],
    [false, { query: " " }],
    [false, { query: 1 }],
    [false, { query: "q", top_n: 0 }],
    [false, { query: "q", top_n: 101 }],
    [false, { query: "q", top_n: 1.5 }],
    [false, { query: "q", stream: "true" }],
    [false, { query: "q", filter: "a = 1" }],
    [false, filtered()],
    [false, filtered(...Array(51).fill(condition))],
    [false, filtered({ ...condition, operator: "==" })],
    [false, filtered({ ...condition, column: "" })],
    [false, filtered({ column: "a", operator: "=" })],
    [false, filtered({ column: "a", operator: "LIKE", value: null })],
    [false, filtered({ column: "a", operator: "IN" })],
    [false, filtered({ column: "a", operator: "NOT IN", value: "x" })],
    [true, filtered({ column: "a", operator: "IS NOT NULL" })],
    [true, filtered({ column: "a", operator: "=", value: false })],
    [false, filtered({ column: "a", operator: "IN", value: Array(1001).fill("x") })],
    [false, { query: "q", filter: { conditions: [condition], logic: "XOR" } }],
    [false, { query: "q", messages: Array(101).fill({ role: "user", content: "" }) }],
    [false, { query: "q", messages: [{ role: "system", content: "" }] }],
  ];
  for (const [isTaken, body] of bodies) {
    const { status } = await createAnswering().ask(body);
    assert.equal(status, isTaken ? 200 : 400, JSON.stringify(body).slice(0, 200));
    assert.equal(queryFaults(body).length === 0, isTaken, JSON.stringify(body).slice(0, 200));
  }
});

Deno.test("any body is answered or refused, and what is answered is described", async () => {
  const junk = { weight: 1, arbitrary: fc.jsonValue() };
  const or = <T>(arbitrary: fc.Arbitrary<T>) =>
    fc.option(fc.oneof({ weight: 30, arbitrary }, junk), { nil: undefined });
  const anyCondition = fc.record({
    column: fc.oneof({ weight: 30, arbitrary: fc.constantFrom("a", "b") }, junk),
    operator: fc.oneof({ weight: 30, arbitrary: fc.constantFrom("=", "IS NULL", "LIKE", "<>") }, junk),
    value: or(fc.oneof(fc.string(), fc.array(fc.integer()))),
  });
  const anyQuery = fc.record({
    query: fc.oneof({ weight: 30, arbitrary: fc.string({ minLength: 1 }) }, junk),
    stream: or(fc.boolean()),
    top_n: or(fc.integer({ min: 0, max: 101 })),
    filter: or(
      fc.record({
        conditions: fc.array(anyCondition, { maxLength: 2 }),
        logic: or(fc.constantFrom("AND", "OR")),
      }),
    ),
    include_sources: or(fc.boolean()),
    messages: or(
      fc.array(fc.record({ role: or(fc.constantFrom("user", "assistant")), content: or(fc.string()) })),
    ),
  });
  const { ask } = createAnswering();
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.oneof(anyQuery, fc.jsonValue()), async (value) => {
      const body = JSON.stringify(value);
      const { status, text } = await ask(body);
      if (status === 200) {
        taken++;
        assert.deepEqual(queryFaults(JSON.parse(body)), []);
      } else assert.match(text, /^\{"error":\{"code":"INVALID_REQUEST","message":"[^"]/);
    }),
    { numRuns: 500 },
  );
  assert.ok(taken > 0);
});
