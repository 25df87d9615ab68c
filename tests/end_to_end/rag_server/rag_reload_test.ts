import assert from "node:assert/strict";
import { join } from "node:path";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { createHandbookDatabase, topicVector } from "../../support/handbook_documents.ts";
import { answerOf } from "../../support/rag_client.ts";
import { configText, handbookPipeline, type RagConfig, startRagServer } from "../../support/rag_server.ts";
import { waitUntil } from "../../support/wait_until.ts";

const leave = { query: "How many days of annual leave are there?", include_sources: true };

testWithPgvectorServer("the configuration and the keys are loaded again while the server runs", async (t) => {
  await using database = await createHandbookDatabase();
  let hold = Promise.resolve();
  await using openai = createVendor("openai", { embed: topicVector });
  await using anthropic = createVendor("anthropic", {
    answer: ["One, ", "two."],
    beforePiece: (index) => index === 4 ? hold : Promise.resolve(),
  });
  const pipeline = (name: string, changes: RagConfig = {}) =>
    handbookPipeline(name, { database, openai, anthropic }, changes);
  const pipelines = (...list: readonly RagConfig[]): RagConfig => ({
    api_keys: { anthropic: "rotated.key", openai: "vendor.key" },
    pipelines: list,
  });
  await using running = await startRagServer(pipelines(pipeline("first"), pipeline("second")), {
    files: { "rotated.key": "sk-first" },
  });
  const { client, process, folder } = running;
  const names = async () =>
    (await client.get("/v1/pipelines")).body.pipelines?.map(({ name }) => name).join();
  const countOf = (text: string) => process.stderr().split(text).length - 1;

  await t.step("a new pipeline appears, one that is removed is gone, a change takes effect", async () => {
    assert.ok((await client.ask("first", leave)).sources?.length ?? 0 > 2);
    await running.configure(pipelines(pipeline("first", { top_n: 2 }), pipeline("third")));
    await waitUntil("the new configuration serves", async () => await names() === "first,third");
    assert.equal((await client.post("second", leave)).status, 404);
    assert.equal((await client.ask("third", leave)).answer, "One, two.");
    assert.equal((await client.ask("first", leave)).sources?.length, 2);
  });

  await t.step("a stream under way finishes on the configuration that it began with", async () => {
    const gate = Promise.withResolvers<void>();
    hold = gate.promise;
    const events = await client.open("third", leave);
    await events.next();
    await running.configure(pipelines(pipeline("first", { top_n: 2 })));
    await waitUntil("the new configuration serves", async () => await names() === "first");
    gate.resolve();
    assert.equal(answerOf(await Array.fromAsync(events)), "two.");
  });

  await t.step("a broken file under load: no request fails, and the log says what is wrong", async () => {
    const broken = ["pipelines: [\n", '{"pipelines": [{"name": "first"}]}', ""];
    const loading = new AbortController();
    let answered = 0;
    const load = Array.from({ length: 4 }, async () => {
      while (!loading.signal.aborted) {
        await client.ask("first", leave);
        answered++;
      }
    });
    for (const text of broken) {
      const before = countOf("Failed to reload");
      await folder.write(text);
      await waitUntil("the failure is logged", () => countOf("Failed to reload") > before);
      const answeredBefore = answered;
      await waitUntil("the old configuration serves", () => answered > answeredBefore + 8);
    }
    loading.abort();
    await Promise.all(load);
    assert.match(
      process.stderr(),
      / ERROR Failed to reload \S+config\.yaml; the current settings stay in force.*line \d/,
    );
    assert.equal(await names(), "first");
  });

  await t.step("a file that is gone leaves the pipelines", async () => {
    const before = countOf("Failed to reload");
    await Deno.remove(folder.configFile);
    await waitUntil("the loss is logged", () => countOf("Failed to reload") > before);
    assert.equal((await client.ask("first", leave)).answer, "One, two.");
  });

  await t.step("a file that is renamed into place", async () => {
    const beside = join(folder.path, "next.yaml");
    await Deno.writeTextFile(beside, configText(pipelines(pipeline("renamed"))));
    await Deno.rename(beside, folder.configFile);
    await waitUntil("the new configuration serves", async () => await names() === "renamed");
  });

  await t.step("a symlink that is swapped, as in a mounted volume", async () => {
    const link = join(folder.path, "..data");
    for (const name of ["mounted", "remounted"]) {
      const version = join(folder.path, `..${name}`);
      await Deno.mkdir(version);
      await Deno.writeTextFile(
        join(version, "config.yaml"),
        configText({
          ...pipelines(pipeline(name)),
          api_keys: { anthropic: join(folder.path, "rotated.key"), openai: join(folder.path, "vendor.key") },
        }),
      );
      await Deno.symlink(version, `${link}_next`);
      await Deno.rename(`${link}_next`, link);
      if (name === "mounted") {
        await Deno.remove(folder.configFile);
        await Deno.symlink("..data/config.yaml", folder.configFile);
      }
      await waitUntil("the new configuration serves", async () => await names() === name);
    }
    assert.equal((await client.ask("remounted", leave)).answer, "One, two.");
  });

  await t.step(
    "a key that is rotated goes with the next request, and no pipeline is loaded again",
    async () => {
      const sent = () => anthropic.requests.at(-1)?.headers.get("x-api-key");
      assert.equal(sent(), "sk-first");
      const before = countOf("config.yaml");
      await Deno.writeTextFile(join(folder.path, "rotated.key"), "sk-second\n");
      await waitUntil("the new key is sent", async () => {
        await client.ask("remounted", leave);
        return sent() === "sk-second";
      });
      const beside = join(folder.path, "next.key");
      await Deno.writeTextFile(beside, "sk-third");
      await Deno.rename(beside, join(folder.path, "rotated.key"));
      await waitUntil("the newest key is sent", async () => {
        await client.ask("remounted", leave);
        return sent() === "sk-third";
      });
      assert.equal(countOf("config.yaml"), before);
      assert.doesNotMatch(process.stderr(), /sk-(first|second|third)/);
    },
  );

  assert.equal(await process.stop(), 0);
});
