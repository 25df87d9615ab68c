import assert from "node:assert/strict";
import { dirname } from "node:path";
import { serve } from "../support/accounts.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { createToolClient } from "../support/tool_client.ts";
import { waitUntil } from "../support/wait_until.ts";

Deno.test("pipes beside and above a watched file stop neither reloads nor the end", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  await using server = await serve(folder);
  const pipes = [`${folder.path}/pipe`, `${dirname(folder.path)}/${crypto.randomUUID()}.pipe`];
  try {
    for (const pipe of pipes) {
      assert.ok((await new Deno.Command("mkfifo", { args: [pipe] }).output()).success);
      await Deno.chmod(pipe, 0o666);
    }
    // the first reload that opens a watch anew is the one that froze
    for (let round = 0; round < 2; round++) {
      const { token } = await folder.addToken();
      const { post } = createToolClient({ url: server.url, token });
      await waitUntil("the token is let in", async () => {
        const response = await post('{"jsonrpc":"2.0","id":1,"method":"ping"}');
        await response.body?.cancel();
        return response.status === 200;
      });
    }
    // a pipe in a credential file's place is not opened
    await Deno.rename(`${folder.path}/pipe`, folder.tokenFile);
    await waitUntil(
      "the pipe is refused",
      () => /Failed to reload .*not a regular file/.test(server.stderr()),
    );
    assert.equal(await server.stop(), 0);
  } finally {
    for (const pipe of pipes) await Deno.remove(pipe).catch(() => {});
  }
});
