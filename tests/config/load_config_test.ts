import { parseFlags } from "../../src/cli/parse_flags.ts";
import { ConfigError, loadConfig, type LoadOptions } from "../../src/config/mod.ts";
import { assertHas } from "../support/assert_has.ts";
import { optionsFor, readFrom } from "./load_options.ts";
import assert from "node:assert/strict";

async function faultsOf(options: LoadOptions): Promise<ConfigError> {
  try {
    await loadConfig(options);
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new assert.AssertionError({ message: "expected a ConfigError" });
}

const files = {
  "/srv/mine.yaml": "http: { address: ':1' }",
  "/srv/named.yaml": "http: { address: ':2' }",
  "/etc/postern/config.yaml": "http: { address: ':3' }",
  "/opt/postern/config.yaml": "http: { address: ':4' }",
};

Deno.test("loadConfig() takes the file of -config, POSTERN_CONFIG, /etc/postern, the executable's folder, in this order", async () => {
  const steps: [string, number, LoadOptions][] = [
    ["/srv/mine.yaml", 1, {
      env: { POSTERN_CONFIG: "named.yaml" },
      cwd: "/srv",
      flags: parseFlags(["-config", "mine.yaml"]),
      readFile: readFrom(files),
    }],
    ["/srv/named.yaml", 2, {
      env: { POSTERN_CONFIG: "named.yaml" },
      cwd: "/srv",
      readFile: readFrom(files),
    }],
    ["/etc/postern/config.yaml", 3, { env: {}, cwd: "/srv", readFile: readFrom(files) }],
    ["/opt/postern/config.yaml", 4, {
      env: {},
      cwd: "/srv",
      executableDir: "/opt/postern",
      readFile: readFrom({ "/opt/postern/config.yaml": files["/opt/postern/config.yaml"] }),
    }],
  ];
  for (const [path, port, options] of steps) {
    const loaded = await loadConfig(options);
    assert.equal(loaded.path, path);
    assert.deepEqual(loaded.config.http.address, { host: "", port });
  }
});

Deno.test("loadConfig() without any file has the defaults, and credential files in the executable's folder", async () => {
  const { config, path, warnings } = await loadConfig({
    env: {},
    cwd: "/srv",
    executableDir: "/opt/postern",
    readFile: readFrom({}),
  });
  assert.equal(path, undefined);
  assert.deepEqual(warnings, []);
  assert.equal(config.http.auth.token_file, "/opt/postern/tokens.yaml");
  assert.equal(config.http.auth.user_file, "/opt/postern/users.yaml");
  assert.deepEqual(config.databases, []);
});

Deno.test("loadConfig() says which file that was named does not exist, and who named it", async () => {
  const byFlag = await faultsOf({
    env: {},
    cwd: "/srv",
    flags: parseFlags(["-config", "gone.yaml"]),
    readFile: readFrom({}),
  });
  assert.equal(byFlag.message, "Cannot load /srv/gone.yaml: -config: there is no such file");
  assert.equal(byFlag.code, "invalid");
  const byVariable = await faultsOf({
    env: { POSTERN_CONFIG: "/gone.yaml" },
    cwd: "/srv",
    readFile: readFrom({}),
  });
  assert.equal(byVariable.message, "Cannot load /gone.yaml: POSTERN_CONFIG: there is no such file");
});

Deno.test("loadConfig() does not pass over a default file that it may not read", async () => {
  const error = await faultsOf({
    env: {},
    cwd: "/srv",
    readFile: () => Promise.reject(new Deno.errors.PermissionDenied("permission denied")),
  });
  assert.equal(error.message, "Cannot load /etc/postern/config.yaml: this user may not read it");
});

Deno.test("loadConfig() resolves the file's paths against its folder, others against the working folder", async () => {
  const { config } = await loadConfig({
    env: { POSTERN_TLS_KEY_FILE: "from/variable.key", HOME: "/home/me" },
    cwd: "/srv",
    flags: parseFlags(["-config", "conf/a.yaml", "-http", "-tls", "-cert", "from-flag.crt"]),
    readFile: readFrom({
      "/srv/conf/a.yaml": "http: { tls: { chain_file: chain.crt }, auth: { token_file: ~/tokens } }\n" +
        "databases: [{ name: a, embedded: memory }, { name: b, embedded: data }, { name: c, sslrootcert: /root.crt }]",
    }),
  });
  assert.deepEqual(config.http.tls, {
    enabled: true,
    cert_file: "/srv/from-flag.crt",
    key_file: "/srv/from/variable.key",
    chain_file: "/srv/conf/chain.crt",
  });
  assert.equal(config.http.auth.token_file, "/home/me/tokens");
  assert.equal(config.http.auth.user_file, "/srv/conf/users.yaml");
  assert.deepEqual(config.databases.map(({ embedded, hosts }) => [embedded, hosts.length]), [
    ["memory", 0],
    ["/srv/conf/data", 0],
    [undefined, 1],
  ]);
  assert.equal(config.databases[2]?.sslrootcert, "/root.crt");
});

Deno.test("loadConfig() makes a database of flags or variables where the file has none, named after it", async () => {
  const cases: [Partial<LoadOptions>, string, string, string][] = [
    [{ flags: parseFlags(["-db-name", "shop", "-db-host", "db"]) }, "shop", "shop", "db"],
    [{ env: { POSTERN_DB_NAME: "shop" } }, "shop", "shop", "localhost"],
    [{ env: { PGDATABASE: "shop", PGHOST: "/var/run/postgresql" } }, "shop", "shop", "/var/run/postgresql"],
    [{ env: { PGHOST: "db" } }, "postgres", "postgres", "db"],
  ];
  for (const [options, name, database, host] of cases) {
    for (const text of ["", "databases: []", "databases:"]) {
      const { config } = await loadConfig(optionsFor(text, options));
      const [made] = config.databases;
      assert.deepEqual([made?.name, made?.database, made?.hosts[0]?.host], [name, database, host]);
      assert.equal(config.databases.length, 1);
    }
  }
});

Deno.test("loadConfig() takes a password alone for a pipeline's role where the file has pipelines and no database", async () => {
  const pipeline =
    "{ name: p, database: { database: d }, tables: [{ table: t, text_column: a, vector_column: b }], " +
    "embedding_llm: { provider: local }, rag_llm: { provider: local } }";
  for (const variable of ["PGPASSWORD", "POSTERN_DB_PASSWORD"]) {
    const made = async (text: string, env: Record<string, string> = {}) =>
      (await loadConfig(optionsFor(text, { env: { [variable]: "secret", ...env } }))).config.databases.length;
    assert.equal(await made(`pipelines: [${pipeline}]`), 0);
    assert.equal(await made(`pipelines: [${pipeline}]`, { PGHOST: "db" }), 1);
    assert.equal(await made(""), 1);
  }
});

Deno.test("loadConfig() does not name a database that the file leaves nameless", async () => {
  const error = await faultsOf(optionsFor("databases: [{ host: db }]", { env: { PGDATABASE: "shop" } }));
  assert.deepEqual(error.faults.map(({ path }) => path), ["databases[0].name"]);
});

Deno.test("loadConfig() lets a host of the command line take the place of the file's hosts, and the reverse", async () => {
  const hosts = "databases: [{ name: a, hosts: [{ host: one }, { host: two }] }]";
  const single = await loadConfig(optionsFor(hosts, { flags: parseFlags(["-db-host", "flag"]) }));
  assert.deepEqual(single.config.databases[0]?.hosts, [{ host: "flag", port: 5432 }]);

  const several = await loadConfig(optionsFor("databases: [{ name: a, host: one, port: 1 }]", {
    env: { POSTERN_DB_HOSTS: "two:2,[::1]:3, four" },
  }));
  assert.deepEqual(several.config.databases[0]?.hosts, [
    { host: "two", port: 2 },
    { host: "::1", port: 3 },
    { host: "four", port: 5432 },
  ]);
  const both = await faultsOf(optionsFor(hosts, { flags: parseFlags(["-db-host", "a", "-db-hosts", "b"]) }));
  assert.deepEqual(both.faults.map(({ flag, path }) => [flag, path]), [["-db-host", "databases[0].host"]]);
});

Deno.test("loadConfig() takes a password from the file, POSTERN_DB_PASSWORD, then PGPASSWORD, and names the .pgpass", async () => {
  const passwordWith = async (password: string, env: Record<string, string>) =>
    (await loadConfig(optionsFor(`databases: [{ name: a, password: "${password}" }]`, { env }))).config
      .databases[0]
      ?.password;
  assert.equal(await passwordWith("file", { POSTERN_DB_PASSWORD: "ours", PGPASSWORD: "libpq" }), "file");
  assert.equal(await passwordWith("", { POSTERN_DB_PASSWORD: "ours", PGPASSWORD: "libpq" }), "ours");
  assert.equal(await passwordWith("", { PGPASSWORD: "libpq" }), "libpq");
  assert.equal(await passwordWith("", {}), undefined);

  const passFile = async (env: Record<string, string>) =>
    (await loadConfig(optionsFor("", { env }))).config.pass_file;
  assert.equal(await passFile({ HOME: "/home/me", PGPASSFILE: "/secret/pgpass" }), "/secret/pgpass");
  assert.equal(await passFile({ HOME: "/home/me" }), "/home/me/.pgpass");
  assert.equal(await passFile({}), undefined);
});

Deno.test("loadConfig() keeps the environment's server away from an embedded database", async () => {
  const { config } = await loadConfig(optionsFor("databases: [{ name: demo, embedded: memory }]", {
    env: { PGHOST: "db", PGUSER: "someone", PGPASSWORD: "secret" },
  }));
  const [demo] = config.databases;
  assert.deepEqual([demo?.hosts, demo?.user, demo?.password], [[], "postgres", undefined]);
});

Deno.test("loadConfig() refuses to serve without authentication where others can reach it, unless told to", async () => {
  for (
    const [address, refused] of [[":8080", true], ["10.0.0.1:80", true], ["127.0.0.1:80", false], [
      "[::1]:80",
      false,
    ]]
  ) {
    const args = ["-http", "-no-auth", `-addr=${address}`];
    const load = (more: string[]) => loadConfig(optionsFor("", { flags: parseFlags([...args, ...more]) }));
    if (refused) {
      const error = await faultsOf(optionsFor("", { flags: parseFlags(args) }));
      assert.deepEqual(error.faults.map(({ flag }) => flag), ["-no-auth"]);
      assert.match(error.message, /needs -allow-insecure/);
    } else await load([]);
    assert.equal((await load(["-allow-insecure"])).config.http.auth.enabled, false);
  }
});

Deno.test("loadConfig() refuses two listeners on one address", async () => {
  const text = "http: { enabled: true, address: '127.0.0.1:8080' }\nserver:\n  port: 8080";
  const flags = { ...parseFlags([]), rag: true };
  const error = await faultsOf(optionsFor(text, { flags }));
  assert.deepEqual(error.faults.map(({ path, line }) => [path, line]), [["server.port", 3]]);
  assert.equal((await loadConfig(optionsFor(text))).config.server.address.port, 8080);
  assert.equal(
    (await loadConfig(optionsFor(text.replace("port: 8080", "port: 81"), { flags }))).config.server.address
      .port,
    81,
  );
});

Deno.test("loadConfig() refuses a metrics.address that is no address, or that a server listens on", async () => {
  const messagesOf = async (text: string, args: string[]) => {
    const error = await loadConfig(optionsFor(text, { flags: parseFlags(args) })).catch((error) => error);
    return error.faults?.map(({ path, message }: { path: string; message: string }) => `${path}: ${message}`);
  };
  const same = "metrics: { address: ':8080' }";
  assert.deepEqual(await messagesOf(same, ["-http"]), [
    "metrics.address: needs a port of its own: http.address listens on port 8080",
  ]);
  assert.deepEqual(await messagesOf(same, ["-rag"]), [
    "metrics.address: needs a port of its own: server.address listens on port 8080",
  ]);
  assert.equal(await messagesOf(same, []), undefined, "over stdio nothing else listens");
  assert.equal(await messagesOf("metrics: { address: ':0' }", ["-http", "-addr", ":0"]), undefined);
  assert.deepEqual(await messagesOf("metrics: { address: 9464 }", []), [
    'metrics.address: expected an address such as :8080, 127.0.0.1:8080 or [::1]:8080; got "9464"',
  ]);
});

Deno.test("loadConfig() warns of a password on the command line and of a mistyped variable", async () => {
  const { warnings } = await loadConfig(optionsFor("", {
    flags: parseFlags(["-db-password", "secret"]),
    env: { POSTERN_HTTP_ADRESS: ":1", POSTERN_PORT: "tcp://10.0.0.1:80", POSTERN_CONFIG: "", OTHER: "x" },
  }));
  assert.deepEqual(warnings, [
    "POSTERN_HTTP_ADRESS is not used: did you mean POSTERN_HTTP_ADDRESS?",
    "-db-password: others on this machine can read a command line; POSTERN_DB_PASSWORD or ~/.pgpass is safer",
  ]);
});

Deno.test("a ConfigError names the file and tells each fault on a line of its own, without secrets", async () => {
  const error = await faultsOf(optionsFor("max_rows: 1\ndatabases: [{ name: a, password: { hunter2: x } }]"));
  assert.equal(
    error.message,
    "Cannot load /etc/postern/config.yaml: 2 faults\n" +
      "  line 1, column 1: max_rows: unknown key: there is databases[].max_rows\n" +
      "  line 2, column 24: databases[0].password: expected text; got a value that is not shown",
  );
  assert.deepEqual(error.data, { faults: error.faults });
});

Deno.test("loadConfig() says which settings an unknown key may stand for, in its section or elsewhere", async () => {
  const cases: [text: string, expected: string][] = [
    [
      "llm: { base_url: x }",
      "llm.base_url: unknown key: there is llm.anthropic_base_url, llm.openai_base_url, llm.gemini_base_url",
    ],
    [
      "llm: { timeout: 3 }",
      "llm.timeout: unknown key: there is llm.request_timeout, llm.per_attempt_timeout",
    ],
    ["llm: { modle: x }", 'llm.modle: unknown key; did you mean "model"?'],
    ["token_file: x", "token_file: unknown key: there is http.auth.token_file, server.auth.token_file"],
    ["cors: {}", "cors: unknown key: there is server.cors"],
    ["wholly_other: 1", "wholly_other: unknown key"],
    [
      "questions: []",
      "questions: unknown key: definitions stand in a file of their own, which custom_definitions_path names",
    ],
    [
      "tokens: {}",
      "tokens: unknown key: API tokens stand in a file of their own, which http.auth.token_file names",
    ],
  ];
  for (const [text, expected] of cases) {
    const { message } = await faultsOf(optionsFor(text));
    assert.equal(message.replace(/^.*?column \d+: /, ""), expected);
  }
});

Deno.test("loadConfig() wants a model of each provider but anthropic, and says what to do in place of local", async () => {
  const load = (llm: string) => loadConfig(optionsFor(`llm: ${llm}`));
  await assert.rejects(load("{ provider: openai }"), { message: /llm\.model: is required for openai$/ });
  await assert.rejects(load("{ provider: ollama }"), { message: /llm\.model: is required for ollama$/ });
  await load("{ provider: openai, enabled: false }");
  await load("{ provider: anthropic }");
  await assert.rejects(load("{ provider: local }"), {
    message:
      /llm\.provider: local writes no SQL: name a provider .*, or leave llm out and write verified questions/,
  });
});

Deno.test("loadConfig() finds vendors' keys in their own variables and in the home folder", async () => {
  const env = {
    HOME: "/home/ann",
    ANTHROPIC_API_KEY: " key-of-anthropic\n",
    GOOGLE_API_KEY: "key-of-google",
    OLLAMA_HOST: "0.0.0.0",
  };
  const { config } = await loadConfig(optionsFor("", { env }));
  assert.deepEqual(config.vendors, {
    keys: {
      anthropic: { api_key: "key-of-anthropic", api_key_file: "/home/ann/.anthropic-api-key" },
      openai: { api_key_file: "/home/ann/.openai-api-key" },
      gemini: { api_key: "key-of-google", api_key_file: "/home/ann/.gemini-api-key" },
      voyage: { api_key_file: "/home/ann/.voyage-api-key" },
      cohere: { api_key_file: "/home/ann/.cohere-api-key" },
    },
    ollama_url: "http://127.0.0.1:11434",
  });
});

Deno.test("loadConfig() takes a word of a choice in any case, from the file, a variable or a flag", async () => {
  const text = "llm: { provider: OpenAI, model: m }\ndatabases: [{ name: d, sslmode: Verify-Full }]";
  const { config } = await loadConfig(optionsFor(text, {
    env: { POSTERN_LOG_LEVEL: "DEBUG" },
    flags: parseFlags(["-db-sslmode", "Require"]),
  }));
  assert.deepEqual([config.llm.provider, config.log.level, config.databases[0]?.sslmode], [
    "openai",
    "debug",
    "require",
  ]);
});

Deno.test("loadConfig() keeps the demo's RAG server to this machine, where Host is checked", async () => {
  const flags = { ...parseFlags(["-demo", "-rag"]) };
  const { config } = await loadConfig(optionsFor("", { flags }));
  assert.deepEqual([config.server.address, config.server.allowed_hosts], [
    { host: "127.0.0.1", port: 8080 },
    [],
  ]);
});

Deno.test("loadConfig() keeps an empty filter_columns, which allows none", async () => {
  const { config } = await loadConfig(optionsFor(`
defaults: { embedding_llm: { provider: local }, rag_llm: { provider: local } }
pipelines:
  - name: docs
    database: { database: d }
    tables:
      - { table: a, text_column: t, vector_column: v, filter_columns: [] }
      - { table: b, text_column: t, vector_column: v, filter_columns: [year, meta->>kind, 7] }
      - { table: c, text_column: t, vector_column: v }
`));
  const [pipeline] = config.pipelines;
  assert.deepEqual(pipeline?.tables.map((table) => table.filter_columns), [
    [],
    ["year", "meta->>kind", "7"],
    undefined,
  ]);
});

Deno.test("OpenTelemetry's variables name a collector where traces has none", async () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318",
    OTEL_EXPORTER_OTLP_HEADERS: "x-key=a%20b, x-team=c=d",
    OTEL_EXPORTER_OTLP_CERTIFICATE: "ca.pem",
    OTEL_SERVICE_NAME: "answers",
  };
  const tracesOf = async (text: string, more: Record<string, string> = {}) =>
    (await loadConfig(optionsFor(text, { env: { ...env, ...more } }))).config.traces;
  assertHas(await tracesOf(""), {
    endpoint: "http://collector:4318",
    headers: { "x-key": "a b", "x-team": "c=d" },
    ca_file: "/srv/ca.pem",
    service_name: "answers",
  });
  assertHas(await tracesOf("", { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://other:4318" }), {
    endpoint: "http://other:4318",
  });
  // the keys of one collector are not told to another
  const own = await tracesOf("traces: { endpoint: 'https://own.example' }");
  assertHas(own, { endpoint: "https://own.example", service_name: "answers" });
  assert.equal(own.headers, undefined);
  assert.equal(own.ca_file, undefined);
  for (const off of [{ OTEL_SDK_DISABLED: "true" }, { OTEL_TRACES_EXPORTER: "none" }]) {
    assert.equal((await tracesOf("", off)).endpoint, undefined);
  }
  await assert.rejects(
    tracesOf("", { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317" }),
    /OTEL_EXPORTER_OTLP_ENDPOINT: traces\.endpoint: expected a URL/,
  );
});
