import assert from "node:assert/strict";
import { join } from "node:path";
import { createTestDatabase, testDatabaseUrl, testWithPostgres } from "../support/database.ts";
import { startCluster, testWithCluster } from "../support/postgres_cluster.ts";
import { commandLine, runProgram, startServer } from "../support/server_process.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { createToolClient } from "../support/tool_client.ts";

const modeOf = async (path: string) => ((await Deno.stat(path)).mode ?? 0) & 0o777;
const names = async (path: string) =>
  (await Array.fromAsync(Deno.readDir(path))).map(({ name }) => name).toSorted();

Deno.test("-init without a terminal names the flags that are missing, and writes nothing", async () => {
  await using folder = await temporaryFolder();
  const configFile = join(folder.path, "config.yaml");
  const { code, stdout, stderr } = await runProgram([
    "-init",
    "-config",
    configFile,
    "-db-host",
    "127.0.0.1",
  ]);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(
    stderr,
    /Cannot write a configuration without a terminal to ask at: give -db-name, -db-user\n$/,
  );
  const down = ["-db-host", "127.0.0.1", "-db-port", "1", "-db-name", "a", "-db-user", "b"];
  const refused = await runProgram(["-init", "-config", configFile, ...down]);
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /Cannot reach database "a": connection refused\n.*\npg_isready -h 127\.0\.0\.1 -p 1\n$/,
  );
  assert.deepEqual(await names(folder.path), []);
});

testWithPostgres(
  "-init with flags writes what a server starts with, a token for it, and never over a file",
  async () => {
    await using database = await createTestDatabase();
    await using folder = await temporaryFolder();
    const configFile = join(folder.path, "config.yaml");
    const { hostname, port, username } = new URL(testDatabaseUrl ?? "");
    const of = ["-db-host", hostname, "-db-port", port, "-db-name", database.name, "-db-user", username];
    const flags = [
      "-init",
      "-config",
      configFile,
      ...of,
      "-addr",
      "127.0.0.1:0",
      "-db-password",
      "never: shown",
    ];
    const { stdout, stderr } = await runProgram(flags);
    const token = /Token\s+(pst_\S+)/.exec(stdout)?.[1];
    assert.ok(token !== undefined, stdout + stderr);
    assert.match(stdout, /^database \w+\n {2}ok +password file .*\n {2}ok +database: PostgreSQL/m);
    assert.match(stdout, /curl -s http:\/\/127\.0\.0\.1:0\/mcp\/v1 -H "Authorization: Bearer \$TOKEN"/);
    assert.ok(!(stdout + stderr + await Deno.readTextFile(configFile)).includes("never: shown"));
    assert.deepEqual(await names(folder.path), ["config.yaml", "db_password", "tokens.yaml"]);
    for (const name of ["config.yaml", "db_password"]) {
      assert.equal(
        await modeOf(join(folder.path, name)),
        0o600,
      );
    }

    await using server = await startServer(["-config", configFile]);
    const { data } = await createToolClient({ url: server.url, token }).call("query_database", {
      query: "SELECT current_database() AS name",
    });
    assert.deepEqual(data["rows"], [[database.name]]);

    const before = await Deno.readTextFile(configFile);
    const again = await runProgram(flags);
    assert.deepEqual([again.code, again.stdout], [1, ""]);
    assert.match(
      again.stderr,
      /config\.yaml: it is there already; name another file with -config, or give -overwrite\n$/,
    );
    assert.equal(await Deno.readTextFile(configFile), before);
    await Deno.writeTextFile(configFile, "old");
    assert.match((await runProgram([...flags, "-overwrite"])).stdout, /^Wrote /m);
    assert.equal(await Deno.readTextFile(configFile), before);
  },
);

const hasTerminals = Deno.build.os === "linux" &&
  await Deno.stat("/usr/bin/script").then(() => true, () => false);

/** Runs the program at a terminal of its own, and answers each prompt once it is shown. */
async function atTerminal(
  args: readonly string[],
  answers: readonly (readonly [prompt: string, answer: string])[],
) {
  const { command, args: own } = commandLine(args);
  const line = [command, ...own].map((word) => `'${word}'`).join(" ");
  const terminal = new Deno.Command("/usr/bin/script", {
    args: ["--quiet", "--return", "--command", line, "/dev/null"],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const keys = terminal.stdin.getWriter();
  let text = "";
  let seen = 0;
  let next = 0;
  for await (const part of terminal.stdout.pipeThrough(new TextDecoderStream())) {
    text += part;
    const [prompt, answer] = answers[next] ?? [];
    if (prompt === undefined || !text.includes(prompt, seen)) continue;
    seen = text.length;
    next++;
    await keys.write(new TextEncoder().encode(answer));
  }
  await keys.close().catch(() => {});
  return { text: text.replaceAll("\r\n", "\n"), code: (await terminal.status).code, answered: next };
}

if (hasTerminals) {
  testWithCluster(
    "-init at a terminal asks, says what is wrong, asks again, and shows no password",
    async () => {
      await using cluster = await startCluster();
      await using folder = await temporaryFolder();
      await cluster.query(
        "CREATE ROLE reader LOGIN PASSWORD 'open sesame'; REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
      );
      await cluster.setHostRules(["host all reader,nobody 127.0.0.1/32 scram-sha-256"]);
      const configFile = join(folder.path, "config.yaml");
      await Deno.writeTextFile(configFile, "# somebody's\n");
      const other = join(folder.path, "other.yaml");
      const answers: [string, string][] = [
        ["is there already. Another file", `${other}\n`],
        ["Host, or folder of a Unix socket [localhost]: ", "127.0.0.1\n"],
        ["Port [5432]: ", `${cluster.port}\n`],
        ["Database [postgres]: ", "\n"],
        ["Role [postgres]: ", "nobody\n"],
        ["Password of nobody (it is not shown): ", "open sesame\r"],
        ["Host, or folder of a Unix socket [127.0.0.1]: ", "\n"],
        [`Port [${cluster.port}]: `, "\n"],
        ["Database [postgres]: ", "\n"],
        ["Role [nobody]: ", "reader\n"],
        ["Password of reader (it is not shown): ", "open sesame\r"],
        ["(stdio/http) [stdio]: ", "\n"],
        ["(file/config/no) [file]: ", "\n"],
      ];
      const { text, code, answered } = await atTerminal(["-init", "-config", configFile], answers);
      assert.equal(answered, answers.length, text);
      assert.equal(code, 0, text);
      assert.match(text, /the server refused the credentials of role "nobody"\n-- Correct the password/);
      assert.match(text, /no errors, no warnings/);
      assert.ok(!text.includes("sesame"), text);
      assert.equal(await Deno.readTextFile(configFile), "# somebody's\n");
      assert.equal(await Deno.readTextFile(join(folder.path, "db_password")), "open sesame\n");
      assert.deepEqual(await names(folder.path), ["config.yaml", "db_password", "other.yaml"]);
      const pasted = JSON.parse(/^ {2}\{\n[^]*?^ {2}\}$/m.exec(text)?.[0] ?? "{}").mcpServers.postern;
      assert.deepEqual(pasted.args.slice(-2), ["-config", other]);
      assert.equal((await runProgram(["-doctor", "-config", other])).code, 0);
    },
  );
}
