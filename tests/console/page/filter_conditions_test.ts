import assert from "node:assert/strict";
import { filterText, narrowingOf, operators } from "../../../console/ask/filter_conditions.ts";
import { operators as allOperators } from "../../../src/rag_server/query_limits.ts";

function narrowing(...fields: readonly (readonly [string, string])[]) {
  const form = new FormData();
  for (const [name, value] of fields) form.append(name, value);
  return narrowingOf(form);
}

function condition(column: string, operator: string, value: string) {
  return [["column", column], ["operator", operator], [
    "value",
    value,
  ]] as const;
}

Deno.test("the form has all operators of filters", () => {
  assert.deepEqual(operators, [...allOperators]);
});

Deno.test("fields that say nothing narrow nothing", () => {
  assert.deepEqual(narrowing(["top_n", ""], ...condition("  ", "=", "x")), {});
});

Deno.test("conditions are read of the form's fields", () => {
  const read = narrowing(
    ["top_n", "7"],
    ["by_meaning", "on"],
    ["logic", "OR"],
    ...condition(" audience ", "=", " a, b "),
    ...condition("", "LIKE", "left out"),
    ...condition("kind", "NOT IN", 'one, "two, three" ,"say ""so""",'),
    ...condition("until", "IS NULL", "not looked at"),
  );
  assert.deepEqual(read, {
    top_n: 7,
    disable_hybrid: true,
    filter: {
      logic: "OR",
      conditions: [
        { column: "audience", operator: "=", value: " a, b " },
        {
          column: "kind",
          operator: "NOT IN",
          value: ["one", "two, three", 'say "so"'],
        },
        { column: "until", operator: "IS NULL" },
      ],
    },
  });
  assert.ok(read.filter);
  assert.equal(
    filterText(read.filter),
    'audience =  a, b OR kind NOT IN one, two, three, say "so" OR until IS NULL',
  );
});
