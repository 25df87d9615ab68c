import assert from "node:assert/strict";
import { administer, serve } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";

Deno.test("credential files are loaded again while the server runs", async (t) => {
  await using folder = await createConfigFolder("databases: []\n");
  await using server = await serve(folder);
  const status = async (token: string) => {
    const response = await createToolClient({ url: server.url, token }).post(
      '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    );
    await response.body?.cancel();
    return response.status;
  };

  await t.step("a token that is added is let in, one that is removed is not", async () => {
    const { id, token } = await folder.addToken();
    await waitUntil("the token is let in", async () => await status(token) === 200);
    await administer(folder, "-remove-token", id);
    await waitUntil("the token is refused", async () => await status(token) === 401);
    assert.match(server.stderr(), /\[AUTH\] Reloaded .*tokens\.yaml/);
  });

  await t.step("a file that does not parse, or is gone, leaves the old data and says why", async () => {
    const { token } = await folder.addToken();
    await waitUntil("the token is let in", async () => await status(token) === 200);
    const text = await Deno.readTextFile(folder.tokenFile);
    await Deno.writeTextFile(folder.tokenFile, "tokens: [\n");
    await waitUntil(
      "the failure is logged",
      () => /\[AUTH\] Failed to reload .*line \d/.test(server.stderr()),
    );
    assert.equal(await status(token), 200);
    await Deno.remove(folder.tokenFile);
    await waitUntil(
      "the loss is logged",
      () => /\[AUTH\] Failed to reload .*does not exist/.test(server.stderr()),
    );
    assert.equal(await status(token), 200);
    await Deno.writeTextFile(folder.tokenFile, text.replace(/^tokens:$/m, "tokens: # back"));
    await waitUntil("it is loaded", () => server.stderr().match(/\[AUTH\] Reloaded/g)?.length === 4);
  });

  await t.step("an emptied, cut or misspelled file revokes nobody, and tokens: {} all", async () => {
    const { token } = await folder.addToken();
    await waitUntil("the token is let in", async () => await status(token) === 200);
    const text = await Deno.readTextFile(folder.tokenFile);
    const damages: [text: string, reason: RegExp][] = [
      ["", /Failed to reload .*it has no tokens any more.*write \"?tokens: \{\}/],
      ["tokens:\n", /Failed to reload .*it has no tokens any more/],
      [text.replace("tokens:", "token:"), /Failed to reload .*unknown key "token"; expected "tokens"/],
      [text.slice(0, text.lastIndexOf("hash: ") + 20), /Failed to reload .*may be cut/],
    ];
    for (const [damaged, reason] of damages) {
      const before = server.stderr().length;
      // the same reason is told again once the file was good in between
      await Deno.writeTextFile(folder.tokenFile, damaged);
      await waitUntil(`${reason} is logged`, () => reason.test(server.stderr().slice(before)));
      assert.equal(await status(token), 200);
      await Deno.writeTextFile(folder.tokenFile, text);
      await waitUntil("it is loaded", () => server.stderr().slice(before).includes("[AUTH] Reloaded"));
    }
    await Deno.writeTextFile(folder.tokenFile, "tokens: {}\n");
    await waitUntil("all are refused", async () => await status(token) === 401);
  });

  await t.step("an expired token is refused at once", async () => {
    const { token } = await folder.addToken({ expiry: "2s" });
    await waitUntil("the token is let in", async () => await status(token) === 200);
    await waitUntil("the token is refused", async () => await status(token) === 401);
  });
});
