import assert from "node:assert/strict";
import { turnOwner } from "../../../../src/tool_server/questions/history/turn_owner.ts";

Deno.test("turnOwner() is a user over all sessions, a token, or the one local caller", () => {
  const alice = { kind: "session", username: "alice", accountSince: 17 } as const;
  assert.equal(turnOwner({ ...alice, id: "one" }), turnOwner({ ...alice, id: "two" }));
  const owners = [
    turnOwner({ ...alice, id: "one" }),
    turnOwner({ kind: "session", id: "three", username: "bob", accountSince: 17 }),
    turnOwner({ kind: "token", id: "alice@17" }),
    turnOwner({ kind: "local" }),
  ];
  assert.equal(new Set(owners).size, owners.length);
});

Deno.test("turnOwner() tells an account from an earlier one of the same name", () => {
  const account = (accountSince: number) =>
    turnOwner({ kind: "session", id: "one", username: "alice", accountSince });
  assert.notEqual(account(17), account(18));
});
