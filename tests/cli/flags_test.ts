import assert from "node:assert/strict";
import { flagGroups } from "../../src/cli/flags.ts";
import { parseFlags, UsageError } from "../../src/cli/parse_flags.ts";
import { listSettings } from "../../src/config/mod.ts";

function settingsOf(...args: string[]): Record<string, string> {
  return Object.fromEntries([...parseFlags(args).settings].map(([name, { text }]) => [name, text]));
}

Deno.test("the flags are these", () => {
  assert.deepEqual(flagGroups.flatMap(({ flags }) => flags.map(({ flag }) => flag)).toSorted(), [
    "add-token",
    "add-user",
    "addr",
    "allow-insecure",
    "answers",
    "cert",
    "chain",
    "check-config",
    "check-role",
    "check-statement",
    "check-token",
    "claims",
    "config",
    "config-schema",
    "confirm-removal",
    "db-host",
    "db-hosts",
    "db-name",
    "db-password",
    "db-port",
    "db-sslmode",
    "db-target-session-attrs",
    "db-user",
    "debug",
    "delete-user",
    "demo",
    "disable-user",
    "doctor",
    "drop-index",
    "dry-run",
    "enable-user",
    "evaluate",
    "help",
    "http",
    "index-pipeline",
    "ingest",
    "init",
    "into",
    "json",
    "key",
    "list-clients",
    "list-tokens",
    "list-users",
    "log-format",
    "log-level",
    "no-auth",
    "openapi",
    "overwrite",
    "password",
    "poll",
    "probe",
    "processes",
    "pull",
    "qrels",
    "queries",
    "rag",
    "rag-listen",
    "rag-port",
    "reembed",
    "remove-token",
    "retry-failed",
    "revoke-client",
    "setup-role",
    "setup-state",
    "setup-watch",
    "sha256",
    "source",
    "switch-to",
    "tls",
    "token-database",
    "token-databases",
    "token-expiry",
    "token-file",
    "token-networks",
    "token-note",
    "token-pipelines",
    "token-tools",
    "update-user",
    "user-file",
    "user-note",
    "username",
    "verify-audit",
    "version",
    "watch",
    "watch-pipeline",
  ]);
});

Deno.test("every flag that gives a setting gives one that exists", () => {
  const names = new Set(listSettings().map(({ name }) => name));
  for (const flag of flagGroups.flatMap(({ flags }) => flags)) {
    if ("setting" in flag) assert.ok(names.has(flag.setting), flag.flag);
  }
});

Deno.test("environment variables are named after the path", () => {
  const variables = new Map(listSettings().map(({ name, variable }) => [name, variable]));
  const expected: Record<string, string> = {
    "http.enabled": "POSTERN_HTTP_ENABLED",
    "http.address": "POSTERN_HTTP_ADDRESS",
    "http.tls.enabled": "POSTERN_TLS_ENABLED",
    "http.tls.cert_file": "POSTERN_TLS_CERT_FILE",
    "http.auth.enabled": "POSTERN_AUTH_ENABLED",
    "http.auth.token_file": "POSTERN_AUTH_TOKEN_FILE",
    "http.auth.max_failed_attempts_before_lockout": "POSTERN_AUTH_MAX_FAILED_ATTEMPTS_BEFORE_LOCKOUT",
    "http.auth.rate_limit_window_minutes": "POSTERN_AUTH_RATE_LIMIT_WINDOW_MINUTES",
    "http.auth.rate_limit_max_attempts": "POSTERN_AUTH_RATE_LIMIT_MAX_ATTEMPTS",
    "http.client_ip.trusted_proxies": "POSTERN_HTTP_CLIENT_IP_TRUSTED_PROXIES",
    "http.allowed_origins": "POSTERN_HTTP_ALLOWED_ORIGINS",
    "databases[0].host": "POSTERN_DB_HOST",
    "databases[0].database": "POSTERN_DB_NAME",
    "databases[0].hosts": "POSTERN_DB_HOSTS",
    "databases[0].sslmode": "POSTERN_DB_SSLMODE",
    "log.level": "POSTERN_LOG_LEVEL",
    "max_connections": "POSTERN_MAX_CONNECTIONS",
    "data_dir": "POSTERN_DATA_DIR",
    "llm.provider": "POSTERN_LLM_PROVIDER",
    "server.listen_address": "POSTERN_SERVER_LISTEN_ADDRESS",
  };
  for (const [name, variable] of Object.entries(expected)) assert.equal(variables.get(name), variable);
  assert.equal(new Set(variables.values()).size, variables.size, "two settings share a variable");
});

Deno.test("parseFlags() takes a value after a space or an equals sign, and one dash or two", () => {
  for (
    const args of [["-addr", ":1"], ["-addr=:1"], ["--addr", ":1"], ["--addr=:1"], [
      "-addr",
      ":0",
      "--addr=:1",
    ]]
  ) {
    assert.deepEqual(settingsOf(...args), { "http.address": ":1" });
  }
  assert.deepEqual(settingsOf("-db-password", "-dashed=x"), { "databases[0].password": "-dashed=x" });
  assert.deepEqual(settingsOf("-db-password="), { "databases[0].password": "" });
});

Deno.test("parseFlags() turns switches on and off, the last one wins", () => {
  assert.deepEqual(settingsOf("-http"), { "http.enabled": "true" });
  assert.deepEqual(settingsOf("-http=false"), { "http.enabled": "false" });
  assert.deepEqual(settingsOf("-no-auth"), { "http.auth.enabled": "false" });
  assert.deepEqual(settingsOf("-no-auth=false"), { "http.auth.enabled": "true" });
  assert.deepEqual(settingsOf("-debug"), { "log.level": "debug" });
  assert.deepEqual(settingsOf("-debug=false"), {});
  assert.deepEqual(settingsOf("-debug", "-log-level", "warn"), { "log.level": "warn" });
  assert.deepEqual(settingsOf("-log-level", "warn", "-debug"), { "log.level": "debug" });
  assert.equal(parseFlags(["-demo", "-demo=false"]).demo, false);
});

Deno.test("parseFlags() of nothing serves over standard input and output", () => {
  const { isOn, ...flags } = parseFlags([]);
  assert.deepEqual(flags, {
    operation: "run",
    subject: "",
    settings: new Map(),
    options: {},
    allowInsecure: false,
    demo: false,
    rag: false,
    json: false,
    paths: [],
  });
  assert(!isOn("json"));
});

Deno.test("parseFlags() names the flag that gave a setting", () => {
  const { settings } = parseFlags(["-http", "--no-auth", "-allow-insecure", "-config", "a.yaml"]);
  assert.deepEqual([...settings], [
    ["http.enabled", { text: "true", flag: "-http" }],
    ["http.auth.enabled", { text: "false", flag: "-no-auth" }],
  ]);
});

Deno.test("parseFlags() reads an administrator's operation with its options", () => {
  const args = [
    "-add-token",
    "-token-note",
    "CI",
    "-token-database",
    "shop",
    "-token-expiry",
    "30d",
    "-token-tools=query_database",
    "-token-networks",
    "::1",
    "-json",
  ];
  const { isOn, ...flags } = parseFlags([...args, "-config", "a.yaml"]);
  assert.deepEqual(flags, {
    operation: "add-token",
    subject: "",
    settings: new Map(),
    options: {
      "token-note": "CI",
      "token-database": "shop",
      "token-expiry": "30d",
      "token-tools": "query_database",
      "token-networks": "::1",
      json: "true",
      config: "a.yaml",
    },
    allowInsecure: false,
    demo: false,
    rag: false,
    json: true,
    paths: [],
    configPath: "a.yaml",
  });
  assert(isOn("json"));
  assert.equal(parseFlags(["-add-token", "-token-expiry=never"]).options["token-expiry"], "never");
  const removal = parseFlags(["-remove-token", "token-1730000000", "-token-file", "t.yaml"]);
  assert.deepEqual([removal.operation, removal.subject], ["remove-token", "token-1730000000"]);
  assert.equal(parseFlags(["-list-tokens"]).operation, "list-tokens");
});

Deno.test("parseFlags() reads operations on pipelines, and the paths that -ingest takes", () => {
  const ingest = parseFlags(["-ingest", "docs", "a.md", "-config", "c.yaml", "folder", "-json"]);
  assert.deepEqual(
    [ingest.operation, ingest.pipeline, ingest.paths, ingest.configPath, ingest.json],
    ["ingest", "docs", ["a.md", "folder"], "c.yaml", true],
  );
  assert.deepEqual(ingest.options, { config: "c.yaml", json: "true" });
  const watching = parseFlags(["-ingest", "docs", "-watch", "-poll", "15m"]);
  assert.deepEqual(watching.options, { watch: "true", poll: "15m" });
  const sources = parseFlags(["-ingest", "docs", "-source", "wiki", "-dry-run", "-confirm-removal"]);
  assert.deepEqual(
    [sources.paths, sources.options.source, sources.isOn("dry-run"), sources.isOn("confirm-removal")],
    [[], "wiki", true, true],
  );
  const evaluate = parseFlags(["-evaluate", "docs", "-queries", "q.jsonl", "-qrels", "q.tsv"]);
  assert.deepEqual(
    [evaluate.operation, evaluate.pipeline, evaluate.options.queries, evaluate.options.qrels],
    ["evaluate", "docs", "q.jsonl", "q.tsv"],
  );
  assert.equal(parseFlags(["-index-pipeline=docs"]).pipeline, "docs");
  for (const operation of ["setup-watch", "watch-pipeline", "reembed"]) {
    assert.equal(parseFlags([`-${operation}`, "docs"]).pipeline, "docs");
  }
  assert.equal(parseFlags(["-reembed", "docs", "-switch-to", "old"]).options["switch-to"], "old");
  assert.equal(parseFlags(["-watch-pipeline", "docs", "-retry-failed"]).isOn("retry-failed"), true);
  assert.deepEqual(settingsOf("-db-password", "-secret", "-db-name=-http"), {
    "databases[0].password": "-secret",
    "databases[0].database": "-http",
  });
  assert.deepEqual(settingsOf("-rag", "-rag-port", "9000"), { "server.port": "9000" });
});

Deno.test("parseFlags() answers -help and -version whatever stands beside them", () => {
  assert.equal(parseFlags(["-tls", "-help"]).operation, "help");
  assert.equal(parseFlags(["-add-token", "-version", "-list-tokens"]).operation, "version");
  assert.equal(parseFlags(["-config-schema"]).operation, "config-schema");
});

Deno.test("parseFlags() refuses a command line in one line that names the flag", () => {
  const cases: [string[], string][] = [
    [["-htpp"], 'unknown flag "-htpp": did you mean -http?'],
    [["--db-hots=x"], 'unknown flag "-db-hots": did you mean -db-host?'],
    [["-raag"], 'unknown flag "-raag": did you mean -rag?'],
    [["-rag-port", "1"], "-rag-port needs -rag"],
    [["-rag", "-doctor"], "-doctor and -rag exclude each other"],
    [["-source", "docs"], "-source needs -ingest"],
    [["-ingest", "docs", "-poll", "1m"], "-poll needs -watch"],
    [["-ingest", "docs", "-watch", "-poll", "0s"], '-poll expects a duration such as 15m; got "0s"'],
    [["-ingest", "docs", "-watch", "-dry-run"], "-watch and -dry-run exclude each other"],
    [["-ingest", "docs", "-watch", "-confirm-removal"], "-watch and -confirm-removal exclude each other"],
    [["-overwrite"], "-overwrite needs -init"],
    [["-init", "-db-hosts", "a,b"], "-init and -db-hosts exclude each other"],
    [["-index-pipeline", "docs", "-dry-run"], "-dry-run needs -ingest"],
    [["-confirm-removal"], "-confirm-removal needs -ingest"],
    [
      ["-index-pipeline", "docs", "folder"],
      'unexpected argument "folder": every option is a flag such as -http',
    ],
    [["-evaluate", "docs", "-queries", "q"], "-evaluate needs -qrels FILE"],
    [["-reembed", "docs", "-qrels", "q"], "-reembed needs -queries FILE"],
    [["-reembed", "docs", "-switch-to", "next"], '-switch-to expects new or old; got "next"'],
    [["-switch-to", "old"], "-switch-to needs -reembed"],
    [["-reembed", "docs", "-retry-failed"], "-retry-failed needs -watch-pipeline"],
    [["-qrels", "q"], "-qrels needs -evaluate or -reembed"],
    [["-answers"], "-answers needs -evaluate"],
    [["-two\nlines"], 'unknown flag "-two\\nlines": -help lists all flags'],
    [["-addr"], "-addr needs a value: -addr ADDRESS"],
    [["-http=maybe"], '-http is a switch: expected true or false, got "maybe"'],
    [
      ["-addr", "-config", "c"],
      '-addr needs a value before "-config": -addr ADDRESS; if it is "-config", write -addr=-config',
    ],
    [
      ["-db-name", "--json"],
      '-db-name needs a value before "--json": -db-name NAME; if it is "--json", write -db-name=--json',
    ],
    [["-http", "config.yaml"], 'unexpected argument "config.yaml": -http takes no value'],
    [["-addr", ":1", "c.yaml"], 'unexpected argument "c.yaml": every option is a flag such as -http'],
    [["-"], 'unexpected argument "-": every option is a flag such as -http'],
    [["--"], 'unexpected argument "--": every option is a flag such as -http'],
    [[""], 'unexpected argument "": every option is a flag such as -http'],
    [["-add-token", "-list-tokens"], "-add-token and -list-tokens exclude each other"],
    [["-list-tokens", "-http"], "-list-tokens and -http exclude each other"],
    [["-demo", "-add-token"], "-add-token and -demo exclude each other"],
    [["-check-config", "c.yaml", "-rag", "-demo"], "-check-config and -demo exclude each other"],
    [["-config-schema", "-http"], "-config-schema and -http exclude each other"],
    [["-tls", "-cert", "c", "-key", "k"], "-tls needs -http"],
    [["-rag", "-tls"], "-tls needs -http; the RAG server has server.tls, which a file alone sets"],
    [
      ["-rag", "-cert", "c"],
      "-cert needs -tls and -http; the RAG server has server.tls, which a file alone sets",
    ],
    [["-http", "-tls=false", "-cert", "c"], "-cert needs -tls"],
    [["-http", "-key", "k"], "-key needs -tls"],
    [["-http", "-chain", "c"], "-chain needs -tls"],
    [["-cert", "c", "-key", "k"], "-cert needs -tls and -http"],
    [["-chain", "c"], "-chain needs -tls and -http"],
    [["-http=false", "-key", "k"], "-key needs -tls and -http"],
    [["-token-note", "x"], "-token-note needs -add-token"],
    [["-list-tokens", "-token-expiry", "1d"], "-token-expiry needs -add-token"],
    [["-claims", "{}"], "-claims needs -doctor or -evaluate or -reembed"],
    [["-doctor", "-claims", "[7]"], `-claims expects a JSON object such as '{"tenant":"acme"}'`],
    [
      ["-json"],
      "-json needs -add-token or -list-tokens or -remove-token or -add-user or -update-user or -enable-user or -disable-user or -delete-user or -list-users or -list-clients or -revoke-client or -ingest or -evaluate or -doctor or -check-role or -check-config or -check-statement or -verify-audit",
    ],
    [
      ["-add-token", "-token-expiry", "soon"],
      '-token-expiry expects a duration such as 12h, 30d or 1y, or never; got "soon"',
    ],
    [
      ["-add-token", "-token-expiry", "0s"],
      '-token-expiry expects a duration such as 12h, 30d or 1y, or never; got "0s"',
    ],
  ];
  for (const [args, message] of cases) {
    assert.throws(() => parseFlags(args), (error) => {
      assert.ok(error instanceof UsageError, `${args}: ${error}`);
      assert.equal(error.message, message);
      return true;
    }, args.join(" "));
  }
});

Deno.test("-h is -help, in Go's spellings, and beside anything else", () => {
  for (const args of [["-h"], ["--h"], ["-http", "-h"], ["-add-token", "-h"], ["-h=true"]]) {
    assert.equal(parseFlags(args).operation, "help");
  }
  assert.throws(() => parseFlags(["-H"]), UsageError);
});
