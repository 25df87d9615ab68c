import assert from "node:assert/strict";
import { join } from "node:path";
import { createConfigFolder } from "../../support/configured_server.ts";
import { createTestDatabase, runSql, testWithPgvectorServer } from "../../support/database.ts";
import { createModelFolder, embeddingFiles, rerankFiles } from "../../support/onnx_model.ts";
import { configText, pipelineDatabase, type RagConfig } from "../../support/rag_server.ts";
import { permissions } from "../../../src/app/processes/runtime.ts";
import { commandLine, runProgram, startServer } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";

const tables = [{ table: "chunks", text_column: "content", vector_column: "embedding", id_column: "id" }];

testWithPgvectorServer(
  "models of this machine make the vectors of files and questions, and rerank",
  async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, "CREATE EXTENSION vector");
    await using embedding = await createModelFolder(embeddingFiles);
    await using reranking = await createModelFolder(rerankFiles);
    const pipeline = (name: string, changes: RagConfig = {}) => ({
      name,
      database: pipelineDatabase(database),
      tables,
      embedding_llm: { provider: "onnx", model_path: embedding.path },
      rag_llm: { provider: "local" },
      allow_include_sources: true,
      search: { hybrid_enabled: false },
      ...changes,
    });
    const reranked = { rerank: { provider: "onnx", model_path: reranking.path } };
    const config = { pipelines: [pipeline("near"), pipeline("reranked", reranked)] };
    await using folder = await createConfigFolder(configText(config));
    const documents = join(folder.path, "documents");
    await Deno.mkdir(documents);
    for (const text of ["red red", "green green", "blue"]) {
      await Deno.writeTextFile(join(documents, `${text[0]}.txt`), `${text}.\n`);
    }
    const operate = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
    const ingested = await operate("-ingest", "near", documents);
    assert.equal(ingested.code, 0, ingested.stderr);
    const types = await runSql(database.url, "SELECT DISTINCT vector_dims(embedding) FROM chunks");
    assert.deepEqual(types, [["3"]]);

    {
      await using server = await startServer(["-rag", "-debug", "-config", folder.configFile]);
      const best = async (name: string) => {
        const reply = await fetch(`${server.url}/v1/pipelines/${name}`, {
          method: "POST",
          body: JSON.stringify({ query: "blue", include_sources: true }),
        });
        const { sources }: { sources: { content: string }[] } = await reply.json();
        return sources.map(({ content }) => content.match(/red|green|blue/)?.[0]);
      };
      assert.equal((await best("near"))[0], "blue");
      assert.deepEqual(await best("reranked"), ["red", "green", "blue"]);
      // their threads began before that
      assert.match(server.stderr(), /lets this process do.* refused="run ffi"/);
      // a reload with a model that cannot be used changes nothing
      await folder.write(
        configText({
          pipelines: [pipeline("near", { embedding_llm: { provider: "onnx", model_path: "gone" } })],
        }),
      );
      await waitUntil("the log has it", () => server.stderr().includes("Cannot use the model"));
      assert.match(
        server.stderr(),
        /Failed to reload .*current settings stay in force.*Cannot use the model .*gone/,
      );
      assert.equal((await best("near"))[0], "blue");
    }

    const faulty: readonly (readonly [string, RegExp])[] = [
      [join(folder.path, "gone"), /Cannot use the model .*gone: cannot read the folder/],
      [reranking.path, /it is a cross-encoder, which scores pairs: embeddings need another model/],
    ];
    for (const [model_path, expected] of faulty) {
      const pipelines = [pipeline("near", { embedding_llm: { provider: "onnx", model_path } })];
      await folder.write(configText({ pipelines }));
      for (
        const flags of [["-check-config", folder.configFile], ["-doctor"], ["-ingest", "near", documents], [
          "-rag",
        ]]
      ) {
        const { code, stdout, stderr } = await operate(...flags);
        assert.equal(code, 1, flags.join(" "));
        assert.match(stdout + stderr, expected, flags.join(" "));
      }
    }
  },
);

testWithPgvectorServer(
  "a model whose vectors do not fit the column is named before anything is written",
  async () => {
    await using database = await createTestDatabase();
    await runSql(
      database.url,
      `CREATE EXTENSION vector;
    CREATE TABLE chunks (id bigserial PRIMARY KEY, content text NOT NULL, embedding vector(4) NOT NULL)`,
    );
    await using embedding = await createModelFolder(embeddingFiles);
    const pipelines = [{
      name: "narrow",
      database: pipelineDatabase(database),
      tables,
      embedding_llm: { provider: "onnx", model_path: embedding.path },
      rag_llm: { provider: "local" },
    }];
    await using folder = await createConfigFolder(configText({ pipelines }));
    const document = join(folder.path, "red.txt");
    await Deno.writeTextFile(document, "red\n");
    const operate = (...flags: string[]) => runProgram(["-config", folder.configFile, ...flags]);
    for (const flags of [["-ingest", "narrow", document], ["-doctor"]]) {
      const { code, stdout, stderr } = await operate(...flags);
      assert.equal(code, 1);
      assert.match(stdout + stderr, /\b3 dimensions|\b4 dimensions/, flags.join(" "));
    }
    assert.deepEqual(await runSql(database.url, "SELECT count(*) FROM chunks"), [["0"]]);
  },
);

testWithPgvectorServer(
  "-reembed and -watch-pipeline run models of this machine with the executable's permissions",
  async () => {
    await using database = await createTestDatabase();
    await runSql(database.url, "CREATE EXTENSION vector");
    // whether the library is tried shows that these may load one
    const files = { ...embeddingFiles, "onnxruntime_binding.node": "no library" };
    await using old = await createModelFolder(files);
    await using next = await createModelFolder(embeddingFiles);
    const config = configText({
      models: { library_path: old.path },
      pipelines: [{
        name: "near",
        database: pipelineDatabase(database),
        tables,
        embedding_llm: { provider: "onnx", model_path: old.path },
        reembed: {
          embedding_llm: { provider: "onnx", model: "second", model_path: next.path },
          vector_column: "next",
        },
        rag_llm: { provider: "local" },
      }],
    });
    await using folder = await createConfigFolder(config);
    const spawn = (...flags: string[]) => {
      const line = commandLine(["-config", folder.configFile, ...flags]);
      const args = line.args.flatMap((arg) => arg === "-A" ? permissions : [arg]);
      return new Deno.Command(line.command, { args, stdin: "null", stdout: "piped", stderr: "piped" })
        .spawn();
    };
    const finish = async (...flags: string[]) => {
      const { code, stdout, stderr } = await spawn(...flags).output();
      const log = new TextDecoder().decode(stderr);
      assert.equal(code, 0, log);
      return { out: new TextDecoder().decode(stdout), log };
    };
    const document = join(folder.path, "red.txt");
    await Deno.writeTextFile(document, "red\n");
    await finish("-ingest", "near", document);
    const isTried = /library in .* cannot be loaded/;
    assert.match((await finish("-reembed", "near")).log, isTried);
    const vectors = (text: string) =>
      runSql(database.url, `SELECT embedding::text, next::text FROM chunks WHERE content LIKE '%${text}'`);
    const [[embedding, other] = []] = await vectors("red");
    assert.ok(embedding);
    assert.equal(other, embedding);

    const { out } = await finish("-setup-watch", "near");
    await runSql(database.url, out.replace("\\set ON_ERROR_STOP on\n", ""));
    const worker = spawn("-watch-pipeline", "near");
    const log = worker.stderr.pipeThrough(new TextDecoderStream()).getReader();
    try {
      // to load a model takes as long as it takes
      let told = "";
      while (told.split("WebAssembly on one thread").length < 3) {
        const { value, done } = await log.read();
        assert.ok(!done, told);
        told += value;
      }
      assert.equal(told.split(isTried).length, 3, told);
      await runSql(
        database.url,
        "INSERT INTO chunks (source, title, position, content) VALUES ('s', 't', 0, 'blue')",
      );
      await waitUntil("both models have embedded it", async () => {
        const [[one, two] = []] = await vectors("blue");
        return typeof one === "string" && one === two && one !== embedding;
      });
    } finally {
      worker.kill("SIGTERM");
      await Promise.all([log.cancel(), worker.stdout.cancel()]);
    }
    assert.equal((await worker.status).code, 0);
  },
);
