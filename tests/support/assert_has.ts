import assert from "node:assert/strict";

/** Fails unless `actual` is `expected`; its objects, at any depth, may have more members. */
export function assertHas(actual: unknown, expected: unknown): void {
  assert.deepEqual(partLike(actual, expected), expected);
}

function partLike(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(actual) && Array.isArray(expected)) {
    return actual.map((item, index) => partLike(item, expected[index]));
  }
  if (!isObject(actual) || !isObject(expected)) return actual;
  const names = Object.keys(expected).filter((name) => Object.hasOwn(actual, name));
  return Object.fromEntries(names.map((name) => [name, partLike(actual[name], expected[name])]));
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
