import assert from "node:assert/strict";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram, startServer } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { waitUntil } from "../support/wait_until.ts";

Deno.test("-h prints what -help does", async () => {
  const [short, long] = [await runProgram(["-h"]), await runProgram(["-help"])];
  assert.deepEqual([short.code, short.stderr], [0, ""]);
  assert.equal(short.stdout, long.stdout);
});

const executable = Deno.env.get("POSTERN_EXECUTABLE");

Deno.test({
  name: "-help calls the program what its file is called (needs the executable)",
  ignore: executable === undefined,
  async fn() {
    await using folder = await temporaryFolder();
    const installed = `${folder.path}/postern`;
    await Deno.copyFile(executable ?? "", installed);
    const { stdout } = await new Deno.Command(installed, { args: ["-help"] }).output();
    assert.match(new TextDecoder().decode(stdout), /\n {2}postern -http \[flags\] {2,}the tool server/);
  },
});

Deno.test("either server says at the start that it has nothing to serve, and once that it stops", async () => {
  for (
    const [flags, nothing] of [
      [["-http", "-no-auth", "-addr", "127.0.0.1:0"], "no databases: tools have nothing to read"],
      [["-rag", "-rag-listen", "127.0.0.1", "-rag-port", "0"], "no pipelines: there is nothing to ask"],
    ] as const
  ) {
    await using folder = await createConfigFolder("databases: []\n");
    await using server = await startServer(["-config", folder.configFile, ...flags]);
    await waitUntil("it warns", () => server.stderr().includes(`WARN  The configuration has ${nothing}`));
    assert.equal(await server.stop(), 0);
    assert.equal(server.stderr().match(/INFO {2}stopping$/gm)?.length, 1, server.stderr());
  }
});

Deno.test("-cert alone names all the flags that it needs", async () => {
  assert.deepEqual(await runProgram(["-cert", "server.crt", "-key", "server.key"]), {
    code: 2,
    stdout: "",
    stderr: "postern: -cert needs -tls and -http\n",
  });
});

Deno.test("a database of a host name and a password file that is missing: the log names the setting, and holds lines of ours alone", async () => {
  await using folder = await createConfigFolder(
    "databases:\n" +
      "  - { name: named, host: localhost, port: 1 }\n" +
      "  - { name: filed, host: localhost, port: 1, password_file: absent }\n" +
      "  - { name: hinted, host: localhost, port: 1, password: '${DB_PASS}' }\n",
  );
  const flags = ["-http", "-no-auth", "-addr", "127.0.0.1:0", "-config", folder.configFile];
  await using server = await startServer(flags);
  await waitUntil("all databases were tried", () => server.stderr().match(/not ready/g)?.length === 3);
  await server.stop();
  const lines = server.stderr().trimEnd().split("\n");
  for (const line of lines) assert.match(line, /^\d{4}-\d\d-\d\dT\S+ (INFO|WARN|ERROR) /);
  assert.ok(lines.some((line) => line.includes("password_file: there is no such file")), server.stderr());
  assert.ok(lines.some((line) => line.includes("databases[2].password (line 4) is used as it is written")));
});
