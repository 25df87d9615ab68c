import assert from "node:assert/strict";
import { silentLogger } from "../../src/core/logger.ts";
import { loadTlsSettings } from "../../src/postgres/tls_settings.ts";
import { waitUntil } from "../support/wait_until.ts";

Deno.test("pipes, devices and folders in the place of a database's certificates are not opened", async (t) => {
  const folder = await Deno.makeTempDir();
  const pipe = `${folder}/pipe`;
  const file = `${folder}/file`;
  await new Deno.Command("mkfifo", { args: [pipe] }).output();
  await Deno.writeTextFile(file, "", { mode: 0o600 });
  for (const path of [pipe, "/dev/null", folder]) {
    for (
      const files of [
        { sslRootCertFile: path },
        { sslCertFile: path, sslKeyFile: file },
        { sslCertFile: file, sslKeyFile: path },
      ]
    ) {
      await t.step(JSON.stringify(files), async () => {
        let refusal: unknown;
        void loadTlsSettings({ name: "main", sslMode: "verify-full", ...files }, silentLogger)
          .catch((error) => refusal = error);
        await waitUntil("it is refused", () => refusal !== undefined);
        assert.match(
          String(refusal),
          /Cannot reach database "main": cannot use .*: it is not a regular file/,
        );
      });
    }
  }
  await Deno.remove(folder, { recursive: true });
});
