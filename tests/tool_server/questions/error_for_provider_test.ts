import assert from "node:assert/strict";
import { errorForProvider } from "../../../src/tool_server/questions/error_for_provider.ts";

const secret = 'invalid input syntax for type integer: "Lisbon"';
const failed = (sqlState: string | undefined, more = {}) =>
  errorForProvider({ kind: "failed", message: secret, ...(sqlState !== undefined && { sqlState }), ...more });

Deno.test("a provider reads what is wrong with the statement's text, and our own refusals, in full", () => {
  const unknown = {
    kind: "failed",
    message: 'column "totl" does not exist',
    sqlState: "42703",
    position: 8,
    line: 1,
    hint: 'Perhaps you meant to reference the column "o.total".',
  } as const;
  assert.deepEqual(errorForProvider(unknown), unknown);
  const refused = { kind: "refused", message: "only SELECT" } as const;
  assert.deepEqual(errorForProvider(refused), refused);
});

Deno.test("of every other error a provider reads the SQLSTATE and a fixed phrase", () => {
  const told: readonly (readonly [string | undefined, string])[] = [
    ["0A000", "PostgreSQL does not support what the statement does"],
    ["21000", "a subquery in the place of one value gives more than one row"],
    ["22P02", "a value does not fit the operation"],
    ["23514", "a value does not fit a constraint"],
    ["25006", "the statement does more than read"],
    ["3F000", "there is no such schema"],
    ["53200", "the server lacks memory, disk space or connections for the statement"],
    ["54001", "the statement goes beyond a limit of PostgreSQL; make it simpler"],
    ["55000", "something that the statement needs is not ready"],
    ["57P05", "the server stopped the statement"],
    ["58030", "the server's system failed"],
    ["P0001", "a function raised an error"],
    ["XX000", "PostgreSQL failed inside"],
    ["38001", "the statement failed while it ran"],
    ["ZZ042", "the statement failed while it ran"],
    [undefined, "the statement failed while it ran"],
  ];
  for (const [sqlState, message] of told) {
    const more = { position: 8, line: 1, hint: secret, detail: secret };
    const place = { position: 8, line: 1 };
    assert.deepEqual(
      failed(sqlState, more),
      { kind: "failed", message, ...(sqlState !== undefined && { sqlState }), ...place },
    );
    assert.deepEqual(Object.keys(failed(sqlState)).includes("position"), false);
  }
});

Deno.test("a name without a place in the statement may be a row's, and no provider reads it", () => {
  const phrase = "a value is no name, syntax or type that PostgreSQL takes there";
  const quoting: readonly (readonly [string, string, string])[] = [
    ["42704", 'unrecognized configuration parameter "Doe 1980-01-02, Roe"', phrase],
    ["42704", 'role "Lisbon" does not exist', phrase],
    ["42P01", 'relation "Lisbon" does not exist', phrase],
    ["42601", "syntax error in tsquery: Lisbon", phrase],
    ["42501", "Lisbon may not be read by ann", phrase],
    ["22023", 'role "Lisbon" does not exist', "a value does not fit the operation"],
  ];
  for (const [sqlState, message, told] of quoting) {
    const error = { kind: "failed", message, sqlState, hint: message, detail: message } as const;
    assert.deepEqual(errorForProvider(error), { kind: "failed", message: told, sqlState });
  }
});

Deno.test("a provider reads which right is missing", () => {
  const denied = { kind: "failed", message: "permission denied for table wages", sqlState: "42501" } as const;
  assert.deepEqual(errorForProvider(denied), denied);
});
