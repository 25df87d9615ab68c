import assert from "node:assert/strict";
import { accepted, condition, filtered, refusal } from "./rag_bodies.ts";

Deno.test("every operator is taken, in lower case too", async () => {
  for (const operator of ["=", "!=", "<", ">", "<=", ">=", "LIKE", "ILIKE", "IN", "NOT IN"]) {
    const value = operator.endsWith("IN") ? ["x"] : "x";
    for (const spelled of [operator, operator.toLowerCase()]) {
      const { filter } = await accepted(filtered({ column: "a", operator: spelled, value }));
      assert.deepEqual(filter?.conditions, [{ column: "a", operator, value }]);
    }
  }
  for (const operator of ["IS NULL", "IS NOT NULL"]) {
    const { filter } = await accepted(filtered({ column: "a", operator: operator.toLowerCase() }));
    assert.deepEqual(filter?.conditions, [{ column: "a", operator }]);
  }
});

Deno.test("a number that JavaScript cannot hold reaches the filter as it was written", async () => {
  const { filter } = await accepted(
    '{"query":"q","filter":{"conditions":[{"column":"a","operator":"IN",' +
      '"value":[9007199254740993,0.1,12345678901234567.89,-1e2,"00000000000000000001",1234567890123456]}]}}',
  );
  assert.deepEqual(filter?.conditions[0]?.value, [
    "9007199254740993",
    0.1,
    "12345678901234567.89",
    -100,
    "00000000000000000001",
    1234567890123456,
  ]);
});

Deno.test("a filter must be an object with 1 to 50 conditions", async () => {
  await accepted(filtered(...Array(50).fill(condition)));
  for (const filter of ["a = 1", 1, [], true]) {
    assert.equal(await refusal({ query: "q", filter }), "filter: expected an object with conditions");
  }
  const count = "filter.conditions: expected a list of 1 to 50";
  assert.equal(await refusal({ query: "q", filter: {} }), count);
  assert.equal(await refusal({ query: "q", filter: { conditions: {} } }), count);
  assert.equal(await refusal(filtered()), count);
  assert.equal(await refusal(filtered(...Array(51).fill(condition))), count);
  for (const logic of ["XOR", "", 1, {}, ["AND"]]) {
    assert.equal(
      await refusal({ query: "q", filter: { conditions: [condition], logic } }),
      "filter.logic: expected one of AND, OR",
    );
  }
});

Deno.test("a condition needs a column and one of the operators", async () => {
  const operator =
    "filter.conditions[1].operator: expected one of =, !=, <, >, <=, >=, LIKE, ILIKE, IN, NOT IN, " +
    "IS NULL, IS NOT NULL";
  for (const wrong of ["==", "<>", "; DROP TABLE x", "", " =", 1, null, undefined, ["="]]) {
    assert.equal(await refusal(filtered(condition, { column: "a", operator: wrong, value: 1 })), operator);
  }
  const column =
    "filter.conditions[0].column: expected a text of 1 to 1000 characters, not blank and without NUL";
  for (const wrong of ["", " ", "a\0", 1, null, undefined, {}, "x".repeat(1001)]) {
    assert.equal(await refusal(filtered({ column: wrong, operator: "=", value: 1 })), column);
  }
  for (const wrong of [null, 1, "a = 1", []]) {
    assert.equal(await refusal(filtered(wrong)), "filter.conditions[0]: expected an object");
  }
});

Deno.test("a condition needs a value that fits its operator", async () => {
  const of = (operator: string, value?: unknown) => refusal(filtered({ column: "a", operator, value }));
  assert.equal(await of("="), "filter.conditions[0].value: expected a value for =");
  assert.equal(await of("like", null), "filter.conditions[0].value: expected a value for LIKE");
  assert.equal(await of("IN"), "filter.conditions[0].value: expected a list for IN");
  assert.equal(await of("not in", "x"), "filter.conditions[0].value: expected a list for NOT IN");
  const tooLong = "filter.conditions[0].value: expected a list of at most 1000";
  assert.equal(await of("IN", Array(1001).fill(1)), tooLong);
  assert.equal(await of("=", Array(1001).fill(1)), tooLong);
  for (const value of ["", 0, false, [], {}, ["a"], { a: { b: null } }]) {
    await accepted(filtered({ column: "a", operator: "=", value }));
  }
  await accepted(filtered({ column: "a", operator: "IN", value: Array(1000).fill("x") }));
  await accepted(filtered({ column: "a", operator: "IN", value: [] }));
});

Deno.test("the texts of a condition are bounded, those of patterns closely", async () => {
  const of = (operator: string, value: unknown) => filtered({ column: "a", operator, value });
  for (const operator of ["LIKE", "ILIKE"]) {
    await accepted(of(operator, "%_".repeat(500)));
    assert.equal(
      await refusal(of(operator, "%_".repeat(500) + "%")),
      `filter.conditions[0].value: expected a text of at most 1000 characters for ${operator}`,
    );
  }
  const long = "x".repeat(10_000);
  await accepted(of("=", long));
  await accepted(of("IN", [long]));
  const tooLong = "filter.conditions[0].value: expected a text of at most 10000 characters for";
  assert.equal(await refusal(of("=", `${long}x`)), `${tooLong} =`);
  assert.equal(await refusal(of("NOT IN", ["y", `${long}x`])), `${tooLong} NOT IN`);
});

Deno.test("a deep body is refused wherever it is deep", async () => {
  const nested = (depth: number, inner = "") => "[".repeat(depth) + inner + "]".repeat(depth);
  const inValue = (value: string) =>
    `{"query":"q","filter":{"conditions":[{"column":"a","operator":"=","value":${value}}]}}`;
  const levels = "filter.conditions[0].value: expected at most 16 levels";
  assert.equal(await refusal(inValue(nested(90))), levels);
  assert.equal(await refusal(inValue(nested(90, "12345678901234567"))), levels);
  assert.equal(await refusal(inValue('{"a":'.repeat(17) + "1" + "}".repeat(17))), levels);
  await accepted(inValue('{"a":'.repeat(16) + "1" + "}".repeat(16)));
  assert.equal(await refusal(nested(90)), "the body: expected a JSON object");
  assert.equal(
    await refusal(`{"query":${nested(90)}}`),
    "query: expected a text of 1 to 32000 characters, not blank and without NUL",
  );
  assert.equal((await accepted(`{"query":"q","unknown":${nested(90)}}`)).query, "q");
  // before it is parsed, which would take long
  const deep = nested(400_000);
  for (const body of [deep, inValue(deep), `{"query":${deep}}`, `{"query":"q","unknown":${deep}}`]) {
    assert.equal(await refusal(body), "the body: it nests deeper than 100 levels");
  }
});
