import assert from "node:assert/strict";
import { createModelFolder, embeddingFiles, type ModelFiles } from "../../support/onnx_model.ts";
import { assertMatchesApi } from "../../support/rag_api.ts";
import { type AnswerEvent, answerOf, createRagClient, readAnswerEvents } from "../../support/rag_client.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { createToolClient } from "../../support/tool_client.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { testWithPrograms } from "../../support/programs.ts";

const path = "/v1/pipelines/handbook";

/** The demo without anything that this machine's environment could bring in. @param model where `-pull` puts one */
async function startDemo(flags: readonly string[], model: ModelFiles = {}) {
  const files = Object.entries(model).map(([name, file]) => [`models/all-MiniLM-L6-v2/${name}`, file]);
  const folder = await createModelFolder(Object.fromEntries(files));
  const env = { PATH: Deno.env.get("PATH") ?? "", HOME: folder.path };
  const server = await startServer(["-demo", ...flags, "-rag-listen", "127.0.0.1", "-rag-port", "0"], {
    cwd: folder.path,
    env,
  });
  return {
    server,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** The lines that the demo prints for another terminal. */
async function printedCurls(server: ServerProcess): Promise<string[]> {
  await waitUntil("the demo says how to ask", () => server.stdout().includes("one kind only"));
  await waitUntil("it has said all", () => server.stdout().includes("Ctrl+C"));
  return server.stdout().split("\n").filter((line) => line.startsWith("curl ") && line.includes(path));
}

async function paste(line: string | undefined): Promise<string> {
  const { stdout } = await new Deno.Command("bash", { args: ["-c", line ?? ""] }).output();
  return new TextDecoder().decode(stdout);
}

async function pasteJson(line: string | undefined) {
  const body = JSON.parse(await paste(line));
  assertMatchesApi("POST", path, 200, body);
  return body;
}

testWithPrograms(["curl"], "the RAG demo's own lines, pasted into another terminal, work", async (t) => {
  await using demo = await startDemo(["-rag"]);
  const curls = await printedCurls(demo.server);
  assert.equal(curls.length, 4);
  assert.match(
    demo.server.stdout(),
    /know letters, not meaning\. Run it with -pull all-MiniLM-L6-v2 in this folder/,
  );

  await t.step("ask", async () => {
    const { answer, ...rest } = await pasteJson(curls[0]);
    assert.match(answer, /28 days/);
    assert.deepEqual(Object.keys(rest), ["tokens_used"]);
  });

  await t.step("with the documents behind the answer", async () => {
    const { answer, sources } = await pasteJson(curls[1]);
    assert.match(answer, /director|manager/i);
    assert.ok(sources.length > 0);
    assert.match(sources[0].content, /expense/i);
  });

  await t.step("as a stream", async () => {
    const text = await paste(curls[2]);
    const events: AnswerEvent[] = await Array.fromAsync(readAnswerEvents(new Response(text)));
    assert.match(answerOf(events), /gold/i);
  });

  await t.step("documents of one kind only", async () => {
    const { answer } = await pasteJson(curls[3]);
    assert.match(answer, /\d+ ?(kg|kilo)/);
  });

  await t.step("what the handbook does not say is not made up", async () => {
    const { answer } = await pasteJson(
      curls[0]?.replace(/-d .*/, `-d '{"query": "Who won the cup in 1966?"}'`),
    );
    assert.doesNotMatch(answer, /England/);
  });

  await t.step("health and the description", async () => {
    const client = createRagClient({ url: demo.server.url });
    assert.equal((await client.get("/v1/health")).body.status, "healthy");
    assert.equal((await client.get("/v1/openapi.json")).status, 200);
  });

  assert.equal(await demo.server.stop(), 0);
});

testWithPrograms(
  ["curl"],
  "the demo serves tools and answers in one process, by a model that was pulled",
  async () => {
    await using demo = await startDemo(["-http", "-addr", "127.0.0.1:0", "-rag"], embeddingFiles);
    const { server } = demo;
    const curls = await printedCurls(server);
    const [line] = curls;
    assert.match((await pasteJson(line)).answer, /28 days/);

    await waitUntil("both listen", () => server.stderr().match(/listening on/g)?.length === 2);
    await waitUntil("the token is printed", () => /export POSTERN_TOKEN=\S+\n/.test(server.stdout()));
    const token = /export POSTERN_TOKEN=(\S+)\n/.exec(server.stdout())?.[1] ?? "";
    const urls = [...server.stderr().matchAll(/listening on (\S+)/g)].map(([, url]) => url ?? "");
    const toolUrl = urls.find((url) => !line?.includes(url)) ?? "";
    const { data } = await createToolClient({ url: toolUrl, token }).call("query_database", {
      query: "SELECT count(*) > 0 AS has_pages, min(vector_dims(embedding)) FROM handbook_pages",
    });
    assert.deepEqual(data["rows"], [[true, 3]]);
    assert.match(server.stdout(), /The model all-MiniLM-L6-v2 makes its embeddings/);
    assert.equal(await server.stop(), 0);
  },
);

testWithPrograms(["curl"], "the demo says what is wrong with a model, and answers without it", async () => {
  await using demo = await startDemo(["-rag"], { ...embeddingFiles, "onnx/model.onnx": "no graph" });
  const [line] = await printedCurls(demo.server);
  assert.match((await pasteJson(line)).answer, /28 days/);
  assert.match(
    demo.server.stderr(),
    /WARN .*know letters, not meaning: Cannot use the model .*all-MiniLM-L6-v2/,
  );
  assert.match(demo.server.stdout(), /know letters, not meaning/);
});
