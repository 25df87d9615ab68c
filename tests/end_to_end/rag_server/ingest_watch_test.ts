import assert from "node:assert/strict";
import { join } from "node:path";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPgvectorServer } from "../../support/database.ts";
import { testWithPrograms } from "../../support/programs.ts";
import { configText } from "../../support/rag_server.ts";
import { command } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

testWithPrograms(
  ["git"],
  "-ingest -watch takes what changes in a folder and a repository, until it is stopped",
  async () => {
    await using database = await createTestDatabase();
    const { hostname, port, username, password, pathname } = new URL(database.url);
    await using folder = await createConfigFolder("");
    const [docs, repository] = [join(folder.path, "docs"), join(folder.path, "repository")];
    await Deno.mkdir(docs);
    const git = async (...args: string[]) => {
      const own = ["-c", "user.name=A", "-c", "user.email=a@example.com"];
      assert.ok(
        (await new Deno.Command("git", { args: ["-C", repository, ...own, ...args] }).output()).success,
      );
    };
    const commit = async (text: string) => {
      await Deno.writeTextFile(join(repository, "guide.md"), text);
      await git("add", "--all");
      await git("commit", "--quiet", "--message=change");
    };
    await Deno.mkdir(repository);
    await git("init", "--quiet", "--initial-branch=main");
    await commit("The first guide.");
    const config = join(folder.path, "config.yaml");
    await Deno.writeTextFile(
      config,
      configText({
        pipelines: [{
          name: "handbook",
          database: {
            host: hostname,
            port: Number(port),
            user: username,
            password: decodeURIComponent(password),
            database: pathname.slice(1),
          },
          tables: [{ table: "docs", text_column: "content", vector_column: "embedding" }],
          sources: [{ path: docs }, { name: "guides", git: { url: repository, branch: "main" } }],
          embedding_llm: { provider: "local" },
          rag_llm: { provider: "local" },
        }],
      }),
    );
    const process = command(["-config", config, "-ingest", "handbook", "-watch", "-poll", "2s"], {
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    const output = process.output();
    const texts = async () =>
      (await database.query("SELECT content FROM docs ORDER BY 1").catch(() => [])).flat().map(String);
    const holds = (what: RegExp) => waitUntil(String(what), async () => what.test((await texts()).join()));
    const isStarted = () => waitUntil("its table is there", async () => (await texts()).length > 0);
    try {
      // a start may take long on a busy machine
      await isStarted().catch(isStarted);
      await holds(/The first guide/);
      await Deno.writeTextFile(join(docs, "leave.md"), "Thirty days of leave.");
      await holds(/Thirty days/);
      await commit("The second guide.");
      await holds(/The second guide/);
      await Deno.remove(join(docs, "leave.md"));
      await waitUntil("its rows are gone", async () => !/Thirty days/.test((await texts()).join()));
    } finally {
      process.kill("SIGTERM");
    }
    const { code, stdout, stderr } = await output;
    const decoder = new TextDecoder();
    assert.equal(code, 0, decoder.decode(stderr));
    // a run without news prints nothing
    const printed = decoder.decode(stdout);
    assert.match(printed, /^Ingested into handbook$/m);
    const further = [...printed.matchAll(/^\d{4}-\S+Z Ingested into handbook: (.*)$/mg)].map(([, what]) =>
      what
    );
    assert.deepEqual(further, [
      "1 added, 0 changed, 0 removed; 1 chunk written",
      "0 added, 1 changed, 0 removed; 1 chunk written",
      "0 added, 0 changed, 1 removed; no chunks written",
    ]);
  },
  testWithPgvectorServer,
);
