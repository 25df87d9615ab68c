import assert from "node:assert/strict";
import { createGrantStore } from "../../../src/identity/authorization_server/grant_store.ts";
import { accountMark, createGrants } from "../../../src/identity/authorization_server/grants.ts";
import { digestOfHash } from "../../../src/identity/presented_token.ts";
import type { UserRecord } from "../../../src/identity/users/user_file.ts";
import { sha256 } from "../../../src/core/text/sha256.ts";
import { memoryState } from "../../support/state.ts";
import { grantOf } from "./grant_of.ts";

const hour = 3_600_000;
const alice: UserRecord = {
  username: "alice",
  passwordHash: "$2b$04$none",
  annotation: null,
  createdAt: null,
  lastLogin: null,
  enabled: true,
  failedAttempts: 0,
  disabledReason: null,
};

Deno.test("createGrants() does not end a grant that is used for the first time while it looks which there are", async () => {
  await using state = memoryState();
  const store = createGrantStore(state);
  for (const id of ["one", "two"]) {
    const owned = { accountId: "alice", clientId: "client" };
    await store.keep("Grant", id, { jti: id, ...owned }, hour, { account: accountMark(alice) });
    await store.keep("AccessToken", `token ${id}`, { ...owned, grantId: id, aud: "tools" }, hour);
  }
  const answered = Promise.withResolvers<void>();
  const late = Promise.withResolvers<void>();
  const ended: string[] = [];
  using grants = createGrants({
    store: {
      ...store,
      async present(ids) {
        const present = await store.present(ids);
        answered.resolve();
        await late.promise;
        return present;
      },
    },
    accounts: { find: () => alice },
    onEnded: (caller) => void ended.push(grantOf(caller) ?? ""),
  });
  const find = (token: string) => {
    const hash = sha256(token);
    return grants.of("tools").find({ hash, digest: digestOfHash(hash) }, Date.now());
  };
  assert.equal(grantOf(await find("token one")), "one");
  const looking = grants.look();
  await answered.promise;
  assert.equal(grantOf(await find("token two")), "two");
  late.resolve();
  await looking;
  assert.deepEqual(ended, []);
  await store.endGrant("one");
  assert.deepEqual(ended, ["one"]);
});
