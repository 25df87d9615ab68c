import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { loadTlsSettings } from "../../../src/postgres/connect/tls.ts";
import { waitUntil } from "../../support/wait_until.ts";

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

Deno.test({
  name:
    "a client certificate's key may be read by its owner, or by the group of one that is root's (needs root)",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    const folder = await Deno.makeTempDir();
    const [sslCertFile, sslKeyFile] = [`${folder}/cert`, `${folder}/key`];
    await Deno.writeTextFile(sslCertFile, "cert");
    await Deno.writeTextFile(sslKeyFile, "key");
    const load = () =>
      loadTlsSettings({ name: "main", sslMode: "require", sslCertFile, sslKeyFile }, silentLogger);
    const [root, user] = [0, 12345];
    const cases = [[user, 0o600, true], [user, 0o640, false], [root, 0o640, true], [
      root,
      0o644,
      false,
    ]] as const;
    for (const [owner, mode, isTaken] of cases) {
      await Deno.chown(sslKeyFile, owner, 23456);
      await Deno.chmod(sslKeyFile, mode);
      if (isTaken) assert.deepEqual((await load()).clientCertificate, { cert: "cert", key: "key" });
      else await assert.rejects(load, /the client certificate's key: others can read the file too$/);
    }
    await Deno.remove(folder, { recursive: true });
  },
});
