import assert from "node:assert/strict";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

async function given(text: string, env: Record<string, string> = {}, args: string[] = []) {
  const { config } = await loadConfig(optionsFor(text, { env, flags: parseFlags(args) }));
  const [database] = config.databases;
  return [database?.password, database?.password_file];
}

Deno.test("a database's password is a text or a file: what is given nearer takes the other's place", async () => {
  const file = "databases: [{ name: a, password_file: secrets/db }]";
  assert.deepEqual(await given(file), [undefined, "/etc/postern/secrets/db"]);
  const environment = { POSTERN_DB_PASSWORD: "ours", PGPASSWORD: "libpq" };
  assert.deepEqual(await given(file, environment), [undefined, "/etc/postern/secrets/db"]);
  assert.deepEqual(await given(file, {}, ["-db-password", "mine"]), ["mine", undefined]);
  const text = "databases: [{ name: a, password: written }]";
  assert.deepEqual(await given(text, { POSTERN_DB_PASSWORD_FILE: "/run/db" }), [undefined, "/run/db"]);
});

Deno.test("a password and a file of it exclude each other, in databases and in pipelines", async () => {
  const both = "password: p, password_file: f";
  const pipeline = `{ name: h, database: { database: d, ${both} }, tables: [{ table: t, text_column: a, ` +
    "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }";
  const error = await loadConfig(
    optionsFor(`databases: [{ name: a, ${both} }]\npipelines: [${pipeline}]\n`),
  ).catch((error) => error);
  assert.deepEqual(
    error.faults.map(({ path, message }: { path: string; message: string }) => [path, message]),
    [
      ["databases[0].password_file", "cannot be given together with password"],
      ["pipelines[0].database.password_file", "cannot be given together with password"],
    ],
  );
});

Deno.test("audit.required needs a file", async () => {
  const error = await loadConfig(optionsFor("audit: { required: true }\n")).catch((error) => error);
  assert.deepEqual(
    error.faults.map(({ path, line, message }: Record<string, unknown>) => [path, line, message]),
    [["audit.required", 1, "needs audit.file: no call could be answered without its line"]],
  );
  const { config } = await loadConfig(optionsFor("audit: { required: true, file: a.jsonl }\n"));
  assert.deepEqual(config.audit, { file: "/etc/postern/a.jsonl", texts: false, required: true });
});

Deno.test("chunks overlap by half at most", async () => {
  for (
    const [chunks, message] of [
      ["{ max_tokens: 100, overlap_tokens: 51 }", "is more than half of max_tokens, which is 100"],
      ["{ overlap_tokens: 201 }", undefined],
      ["{ max_tokens: 100, overlap_tokens: 50 }", undefined],
    ] as const
  ) {
    const pipeline =
      `{ name: h, chunks: ${chunks}, database: { database: d }, tables: [{ table: t, text_column: a, ` +
      "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }";
    const faults = await loadConfig(optionsFor(`pipelines: [${pipeline}]\n`)).then(
      () => [],
      (error) => error.faults,
    );
    assert.deepEqual(
      faults.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`),
      message === undefined ? [] : [`pipelines[0].chunks.overlap_tokens ${message}`],
    );
  }
});

Deno.test("ocr_command says where the page's number goes", async () => {
  for (
    const [command, fault] of [
      ["[/bin/ocr, '{page}']", undefined],
      ["[/bin/ocr, '--page={page}']", undefined],
      ["[/bin/ocr]", "needs {page}, the number of the page to read, in an argument"],
      ["['{page}']", "needs {page}, the number of the page to read, in an argument"],
      ["[]", undefined],
      ["ocr", 'expected a list of at least one program; got "ocr"'],
    ] as const
  ) {
    const pipeline =
      `{ name: h, ocr_command: ${command}, database: { database: d }, tables: [{ table: t, text_column: a, ` +
      "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }";
    const faults = await loadConfig(optionsFor(`pipelines: [${pipeline}]\n`)).then(
      () => [],
      (error) => error.faults,
    );
    assert.deepEqual(
      faults.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`),
      fault === undefined ? [] : [`pipelines[0].ocr_command ${fault}`],
      command,
    );
  }
});

Deno.test("rules for metadata have a group or a key of front matter, and a column that nothing else fills", async () => {
  const form = (given: string) =>
    `.product expected a regular expression with a group, such as docs/([^/]+)/, or front_matter.KEY; got "${given}"`;
  const own = "is a column that -ingest fills itself; name another one";
  for (
    const [metadata, message] of [
      ['{ product: "docs/([^/]+)/", tags: front_matter.tags }', undefined],
      ['{ product: "docs/" }', form("docs/")],
      ['{ product: "docs/(" }', form("docs/(")],
      ["{ a: front_matter.a }", `.a ${own}`],
      ["{ id: front_matter.a }", `.id ${own}`],
      ["{ char_start: front_matter.a }", `.char_start ${own}`],
    ] as const
  ) {
    const pipeline =
      `{ name: h, metadata: ${metadata}, database: { database: d }, tables: [{ table: t, text_column: a, ` +
      "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }";
    const faults = await loadConfig(optionsFor(`pipelines: [${pipeline}]\n`)).then(
      () => [],
      (error) => error.faults,
    );
    assert.deepEqual(
      faults.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`),
      message === undefined ? [] : [`pipelines[0].metadata${message}`],
    );
  }
});

const twoHosts = "hosts: [{ host: a }, { host: b }]";
const pipelineWith = (database: string) =>
  `pipelines: [{ name: h, database: { database: d, ${database} }, tables: [{ table: t, text_column: a, ` +
  "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }]\n";

Deno.test("max_replica_lag needs several hosts and prefer-standby, which is a pipeline's default", async () => {
  const needs = "needs several hosts, and target_session_attrs: prefer-standby";
  const faultsOf = async (text: string) => {
    const faults = await loadConfig(optionsFor(text)).then(() => [], (error) => error.faults);
    return faults.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`);
  };
  const ofDatabase = (settings: string) =>
    faultsOf(`databases: [{ name: a, max_replica_lag: 10s, ${settings} }]\n`);
  const ofPipeline = (settings: string) => faultsOf(pipelineWith(`max_replica_lag: 10s, ${settings}`));
  const spread = "target_session_attrs: prefer-standby";
  assert.deepEqual(await ofDatabase(`${twoHosts}, ${spread}`), []);
  assert.deepEqual(await ofPipeline(twoHosts), []);
  for (
    const settings of [
      "",
      twoHosts,
      `hosts: [{ host: a }], ${spread}`,
      `${twoHosts}, target_session_attrs: standby`,
    ]
  ) {
    assert.deepEqual(await ofDatabase(settings), [`databases[0].max_replica_lag ${needs}`], settings);
  }
  for (const settings of ["", "hosts: [{ host: a }]", `${twoHosts}, target_session_attrs: any`]) {
    assert.deepEqual(
      await ofPipeline(settings),
      [`pipelines[0].database.max_replica_lag ${needs}`],
      settings,
    );
  }
  for (const lag of ["0s", "1s", "25h", "ten"]) {
    assert.deepEqual(
      await faultsOf(`databases: [{ name: a, max_replica_lag: ${lag}, ${twoHosts}, ${spread} }]\n`),
      [
        `databases[0].max_replica_lag expected ${
          lag === "ten" ? "a duration such as 30s, 15m, 24h or 30d" : "a duration from 2s to 1d"
        }; got "${lag}"`,
      ],
    );
  }
});

Deno.test("a new model of embeddings is another one, in a column of its own", async () => {
  const faultsOf = async (reembed: string) => {
    const pipeline =
      "{ name: h, database: { database: d }, tables: [{ table: t, text_column: a, vector_column: b }], " +
      `embedding_llm: { model: m }, rag_llm: { provider: local }, reembed: ${reembed} }`;
    const text = `defaults: { embedding_llm: { provider: ollama } }\npipelines: [${pipeline}]\n`;
    const error = await loadConfig(optionsFor(text)).catch((error) => error);
    return error.faults?.map(({ path, message }: { path: string; message: string }) => `${path} ${message}`);
  };
  assert.deepEqual(await faultsOf("{ embedding_llm: { model: m }, vector_column: b }"), [
    "pipelines[0].reembed.embedding_llm is the pipeline's own model: expected another provider or model",
    "pipelines[0].reembed.vector_column is a table's own vector_column: expected a new one",
  ]);
  const ofPaths = async (own: string, other: string) => {
    const text =
      "pipelines: [{ name: h, database: { database: d }, tables: [{ table: t, text_column: a, vector_column: b }], " +
      `embedding_llm: { provider: onnx, model_path: ${own} }, rag_llm: { provider: local }, ` +
      `reembed: { embedding_llm: { model_path: ${other} }, vector_column: c } }]`;
    const { config } = await loadConfig(optionsFor(text));
    return config.pipelines[0]?.reembed?.embedding_llm.model;
  };
  assert.equal(await ofPaths("/models/old", "/models/new"), "new");
  await assert.rejects(ofPaths("/models/old", "/models/old/onnx/model.onnx"), /is the pipeline's own model/);
  assert.deepEqual(await faultsOf("{ embedding_llm: { provider: openai }, vector_column: c }"), [
    "pipelines[0].reembed.embedding_llm.model is required for openai",
  ]);
  const { config } = await loadConfig(optionsFor(
    "pipelines: [{ name: h, database: { database: d }, tables: [{ table: t, text_column: a, vector_column: b }], " +
      "embedding_llm: { provider: ollama, model: m, base_url: 'http://a' }, rag_llm: { provider: local }, " +
      "reembed: { embedding_llm: { model: n }, vector_column: c } }]",
  ));
  const { provider, model, base_url } = config.pipelines[0]?.reembed?.embedding_llm ?? {};
  assert.deepEqual([provider, model, base_url], ["ollama", "n", "http://a"]);
});

Deno.test("without vector_weight, each of two models has that of its kind", async () => {
  const weightsBy = async (own: string, next: string, search = "{}") => {
    const { config: { pipelines: [pipeline] } } = await loadConfig(optionsFor(
      "pipelines: [{ name: h, database: { database: d }, tables: [{ table: t, text_column: a, vector_column: b }], " +
        `embedding_llm: ${own}, rag_llm: { provider: local }, search: ${search}, ` +
        `reembed: { embedding_llm: ${next}, vector_column: c } }]`,
    ));
    return [pipeline?.search.vector_weight, pipeline?.reembed?.vector_weight];
  };
  const [local, ollama] = ["{ provider: local }", "{ provider: ollama, model: m }"];
  assert.deepEqual(await weightsBy(local, ollama), [0.1, 0.5]);
  assert.deepEqual(await weightsBy(ollama, local), [0.5, 0.1]);
  assert.deepEqual(await weightsBy(local, ollama, "{ vector_weight: 0.3 }"), [0.3, 0.3]);
});

const secrets: [settings: string, path: string, message: string][] = [
  ["password: p, password_command: [a]", "password_command", "cannot be given together with password"],
  [
    "password_file: p, password_command: [a]",
    "password_command",
    "cannot be given together with password_file",
  ],
  [
    "password_command: [a], password_from: aws_rds_iam, aws_region: r, sslmode: require",
    "password_from",
    "cannot be given together with password_command",
  ],
  [
    "password_from: aws_rds_iam, sslmode: require",
    "aws_region",
    "is required where password_from is given",
  ],
  [
    "password_from: aws_rds_iam, aws_region: r",
    "sslmode",
    "expected require, verify-ca or verify-full, as password_from sends a token",
  ],
  ["password_lifetime: 5m", "password_command", "is required where password_lifetime is given"],
];
for (const [settings, path, message] of secrets) {
  Deno.test(`a database cannot have ${settings}`, async () => {
    const error = await loadConfig(optionsFor(`databases: [{ name: a, ${settings} }]`)).catch((error) =>
      error
    );
    const [fault] = error.faults;
    assert.deepEqual([fault.path, fault.message], [`databases[0].${path}`, message]);
  });
}

Deno.test("a password of the environment does not take the place of one that is issued; a flag's does", async () => {
  const file = "databases: [{ name: a, password_command: [db-token] }]";
  assert.deepEqual(await given(file, { POSTERN_DB_PASSWORD: "ours" }), [undefined, undefined]);
  assert.deepEqual(await given(file, {}, ["-db-password", "mine"]), ["mine", undefined]);
});
