import assert from "node:assert/strict";
import { z } from "zod";
import { invalidArguments } from "../../../src/tool_server/tools/tool.ts";

const schema = z.strictObject({
  query: z.string(),
  limit: z.int().min(1).optional(),
  filter: z.union([
    z.string(),
    z.array(z.strictObject({ column: z.string(), value: z.union([z.string(), z.number()]) })),
  ]).optional(),
});

function faults(args: unknown) {
  const { error } = schema.safeParse(args);
  assert.ok(error);
  const { message, data } = invalidArguments("find", error, Object.keys(schema.shape));
  return { message, faults: data?.["faults"] };
}

Deno.test("each fault of arguments is told with its path", () => {
  assert.deepEqual(faults({ query: "x", limit: 0, filter: [{ column: 1, value: "a" }] }), {
    message: "Cannot call find: limit: Too small: expected number to be >=1; " +
      "filter.0.column: expected string, received number",
    faults: [
      { argument: "limit", message: "Too small: expected number to be >=1" },
      { argument: "filter.0.column", message: "expected string, received number" },
    ],
  });
  assert.deepEqual(faults({ query: "x", filter: [{ column: "a", value: "b", or: 1 }] }).faults, [
    { argument: "filter.0.or", message: "is not an argument of this tool" },
  ]);
  assert.deepEqual(faults({ query: "x", filter: [{ column: "a", value: true }] }).faults, [
    { argument: "filter.0.value", message: "Invalid input" },
  ]);
  assert.deepEqual(faults({ query: "x", filter: 1 }).faults, [{
    argument: "filter",
    message: "Invalid input",
  }]);
  assert.deepEqual(faults([]).faults, [
    { argument: "arguments", message: "expected object, received array" },
  ]);
});

Deno.test("a mistyped argument is told the one that was meant", () => {
  assert.deepEqual(faults({ query: "x", limt: 1, nothing_like_it: 1 }).faults, [
    { argument: "limt", message: 'is not an argument of this tool; did you mean "limit"?' },
    { argument: "nothing_like_it", message: "is not an argument of this tool" },
  ]);
});

Deno.test("a missing argument is called so, and one unlike any is told what there is", () => {
  assert.deepEqual(faults({ sql: "x" }), {
    message: "Cannot call find: query: is missing; expected string; sql: is not an argument of this tool; " +
      "it takes query, limit, filter",
    faults: [
      { argument: "query", message: "is missing; expected string" },
      { argument: "sql", message: "is not an argument of this tool" },
    ],
  });
  const { error } = z.strictObject({}).safeParse({ x: 1 });
  assert.ok(error);
  assert.equal(
    invalidArguments("none", error, []).message,
    "Cannot call none: x: is not an argument of this tool; it takes no arguments",
  );
});

Deno.test("what is wrong with an argument in two ways is told once if the words are the same", () => {
  const { error } = z.object({ text: z.string().min(1, "expected a text").regex(/\S/, "expected a text") })
    .safeParse({ text: "" });
  assert.ok(error);
  assert.equal(invalidArguments("find", error, ["text"]).message, "Cannot call find: text: expected a text");
});
