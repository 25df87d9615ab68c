import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

const linux = { os: "linux" } as const;

/** The configuration of each of several processes. */
function ofEach(text: string, of: number) {
  return Promise.all(Array.from({ length: of }, async (_, at) => {
    const own = { number: at + 1, of, ports: { http: 4711, server: 4712 } };
    const env = { POSTERN_STARTED_BY_PARENT: JSON.stringify(own), NOTIFY_SOCKET: "/run/notify" };
    const { config, warnings } = await loadConfig(optionsFor(text, { ...linux, env }));
    assert.deepEqual(warnings.filter((warning) => warning.includes("POSTERN_")), []);
    return config;
  }));
}

function refusal(text: string, os: typeof Deno.build.os = "linux"): Promise<string> {
  return loadConfig(optionsFor(text, { os })).then(() => "", ({ message }) => message);
}

Deno.test("the bounds of all processes together are those of the configuration", async () => {
  const configs = await ofEach(
    `
processes: 3
max_connections: 10
data_dir: /data
audit: { file: /log/audit.jsonl, texts: true }
databases: [{ name: main, pool_max_conns: 4 }, { name: small, pool_max_conns: 1 }]
admission: { max_waiting: 100 }
server: { max_queries: 5 }
pipelines:
  - &p
    name: docs
    database: { host: db, database: docs }
    tables: [{ table: chunks, text_column: content, vector_column: embedding }]
    embedding_llm: { provider: openai, model: m }
    rag_llm: { provider: openai, model: m }
limits:
  default: { calls_at_once: 3, calls_per_minute: 60 }
  all: { calls_at_once: 7 }
  principals: { alice: { calls_at_once: 1 } }
  groups: { staff: { calls_at_once: 30 } }
`,
    3,
  );
  const [first] = configs;
  assert.deepEqual(configs.map((config) => config.max_connections), [4, 3, 3]);
  assert.deepEqual(
    configs.map(({ databases }) => databases.map((database) => database.pool_max_conns)),
    [[2, 1], [1, 1], [1, 1]],
  );
  assert.deepEqual(configs.map(({ pipelines: [docs] }) => docs?.database.pool_max_conns), [4, 3, 3]);
  assert.deepEqual(configs.map(({ admission }) => admission.max_waiting), [34, 33, 33]);
  assert.deepEqual(configs.map(({ server }) => server.max_queries), [2, 2, 1]);
  assert.deepEqual(
    configs.map(({ limits }) => [limits.default, limits.all].map((numbers) => numbers?.calls_at_once)),
    [[1, 3], [1, 2], [1, 2]],
  );
  assert.equal(first?.limits.default?.calls_per_minute, 60);
  assert.deepEqual(
    configs.map(({ limits }) => [limits.principals?.["alice"], limits.groups?.["staff"]]),
    [1, 2, 3].map(() => [{ calls_at_once: 1 }, { calls_at_once: 10 }]),
  );
  assert.deepEqual(
    configs.map(({ audit }) => audit.file),
    ["/log/audit.jsonl", "/log/audit-2.jsonl", "/log/audit-3.jsonl"],
  );
  assert.equal(first?.audit.texts, true);
  assert.deepEqual([first?.http.address.port, first?.server.address.port], [4711, 4712]);
  assert.equal(first?.notify_socket, undefined);
});

Deno.test("nobody waits in several processes where nobody may wait in one", async () => {
  const configs = await ofEach("admission: { max_waiting: 0 }", 2);
  assert.deepEqual(configs.map(({ admission }) => admission.max_waiting), [0, 0]);
});

Deno.test("processes takes a number from 1 to 64, or auto", async () => {
  const { config } = await loadConfig(optionsFor("processes: auto", linux));
  assert.equal(config.processes, Math.min(navigator.hardwareConcurrency, 64));
  for (const text of ["64", '"2"']) assert.equal(await refusal(`processes: ${text}`), "");
  for (const text of ["0", "65", "1.5", "all", '"2.0"', "-1", "[2]"]) {
    assert.match(
      await refusal(`processes: ${text}`),
      /processes: expected a whole number from 1 to 64, or auto/,
    );
  }
  const { config: ofVariable } = await loadConfig(
    optionsFor("processes: 3", { ...linux, env: { POSTERN_PROCESSES: "2" } }),
  );
  assert.equal(ofVariable.processes, 2);
});

Deno.test("several processes need Linux", async () => {
  for (const os of ["darwin", "windows"] as const) {
    assert.equal(await refusal("processes: 1", os), "");
    assert.equal(
      await refusal("processes: 4", os),
      "Cannot load /etc/postern/config.yaml: line 1, column 12: processes: 4 need Linux, where processes can share a port: expected 1",
    );
  }
});

Deno.test("several processes need a connection each, and no embedded database", async () => {
  assert.equal(await refusal("{ processes: 4, max_connections: 4 }"), "");
  assert.match(
    await refusal("{ processes: 4, max_connections: 3 }"),
    /: processes: 4 cannot share max_connections, which is 3: each needs one at least$/,
  );
  assert.match(
    await refusal("{ processes: 2, databases: [{ name: main, embedded: memory }] }"),
    /: processes: 2 cannot share databases\[0\]\.embedded, which belongs to one process: expected 1$/,
  );
});
