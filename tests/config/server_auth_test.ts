import assert from "node:assert/strict";
import { ConfigError, faultText, loadConfig } from "../../src/config/mod.ts";
import { configSchema } from "../../src/config/schema/config_schema.ts";
import { sectionFields } from "../../src/config/schema/schema_walk.ts";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { optionsFor } from "./load_options.ts";

async function authOf(yaml: string, args: readonly string[] = [], env: Record<string, string> = {}) {
  const { config } = await loadConfig(optionsFor(yaml, { env, flags: parseFlags(args) }));
  const { oauth: _oauth, ...tools } = config.http.auth;
  return { tools, rag: config.server.auth };
}

const ofTools = `http:
  auth: { enabled: false, token_file: /a/t.yaml, rate_limit_max_attempts: 3, session_lifetime: 1h }
`;

Deno.test("server.auth is off by default, and otherwise as http.auth", async () => {
  const { tools, rag } = await authOf("");
  assert.deepEqual(rag, { ...tools, enabled: false });
  assert.equal(tools.enabled, true);
  for (const more of ["", "server: { auth: { enabled: true } }\n"]) {
    const { tools, rag } = await authOf(ofTools + more);
    assert.deepEqual(rag, { ...tools, enabled: more !== "" });
    assert.deepEqual([rag.token_file, rag.rate_limit_max_attempts, rag.session_lifetime], [
      "/a/t.yaml",
      3,
      3_600_000,
    ]);
  }
});

Deno.test("server.auth's own settings come first, whoever gives them", async () => {
  const { rag } = await authOf(
    ofTools + "server: { auth: { enabled: yes, user_file: rag.yaml, session_lifetime: 2h } }\n",
    [],
    { POSTERN_SERVER_AUTH_MAX_FAILED_ATTEMPTS_BEFORE_LOCKOUT: "7" },
  );
  assert.equal(rag.enabled, true);
  assert.equal(rag.user_file, "/etc/postern/rag.yaml");
  assert.equal(rag.session_lifetime, 7_200_000);
  assert.equal(rag.max_failed_attempts_before_lockout, 7);
  assert.equal(rag.token_file, "/a/t.yaml");
});

Deno.test("-token-file and -user-file hold for both servers, unless server.auth names others", async () => {
  const { tools, rag } = await authOf("server: { auth: { user_file: rag.yaml } }", [
    "-http",
    "-rag",
    "-addr=127.0.0.1:1",
    "-token-file=/f/t.yaml",
    "-user-file=/f/u.yaml",
  ]);
  assert.deepEqual([tools.token_file, rag.token_file], ["/f/t.yaml", "/f/t.yaml"]);
  assert.deepEqual([tools.user_file, rag.user_file], ["/f/u.yaml", "/etc/postern/rag.yaml"]);
});

async function faultsOf(yaml: string, args: readonly string[] = []): Promise<string[]> {
  try {
    await authOf(yaml, args);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigError);
    return error.faults.map(faultText);
  }
}

Deno.test("what one listener has and the other has not is told where it belongs", async () => {
  assert.deepEqual(await faultsOf('server: { auth: { oauth: { issuer: "https://mcp.example.com" } } }'), [
    "line 1, column 19: server.auth.oauth: unknown key: the tool server has the authorization server: http.auth.oauth. " +
    "The RAG server takes its tokens where both run in one process (server.auth.methods.oauth), and those of an issuer " +
    "elsewhere with server.auth.identity_provider",
  ]);
  const { http, server } = configSchema.shape;
  const fieldsOf = (schema: typeof http | typeof server, name: string) =>
    Object.keys(sectionFields(sectionFields(schema)?.[name] ?? schema) ?? {});
  const missing = [
    ...["auth", "tls"].flatMap((name) => {
      const known = fieldsOf(server, name);
      return fieldsOf(http, name).filter((key) => !known.includes(key)).map((key) => ["server", name, key]);
    }),
    ["server", "allowed_origins"],
    ["server", "enabled"],
    ["http", "cors"],
  ];
  assert.ok(missing.length > 4);
  for (const path of missing) {
    const tree = path.reduceRight<unknown>((value, key) => ({ [key]: value }), "x");
    const [fault = ""] = await faultsOf(JSON.stringify(tree));
    assert.match(fault, new RegExp(`${path.join("\\.")}: unknown key: \\w+ .*(server|RAG|-rag)`), fault);
  }
});

Deno.test("servers with the same accounts cannot have limits of their own", async () => {
  const different = "server: { auth: { enabled: true, rate_limit_max_attempts: 4, password_min_length: 12";
  assert.deepEqual(await faultsOf(`${different} } }`), [
    "line 1, column 59: server.auth.rate_limit_max_attempts: cannot differ from http.auth.rate_limit_max_attempts " +
    "while both have the same token_file and user_file",
  ]);
  // another spelling of the same file
  assert.equal((await faultsOf(`${different}, user_file: ../postern/users.yaml } }`)).length, 1);
  assert.deepEqual(await faultsOf(`${different}, user_file: rag.yaml } }`), []);
  assert.deepEqual(await faultsOf(`${different} } }`.replace("enabled: true", "enabled: false")), []);
  assert.deepEqual(
    await faultsOf("http: { auth: { session_lifetime: 1h } }\nserver: { auth: { enabled: true } }"),
    [],
  );
  assert.deepEqual(
    await faultsOf(
      "http: { auth: { session_lifetime: 24h } }\nserver: { auth: { enabled: true, session_lifetime: 1d } }",
    ),
    [],
  );
});

Deno.test("an administrator's operation on a server's own files meets no such fault", async () => {
  const own = "server: { auth: { enabled: true, user_file: own.yaml, rate_limit_max_attempts: 4 } }";
  const flag = "-user-file=/etc/postern/own.yaml";
  assert.deepEqual(await faultsOf(own, ["-list-users", flag]), []);
  assert.equal((await faultsOf(own, ["-http", "-rag", "-addr=127.0.0.1:1", flag])).length, 1);
});

const nobody = (server: string) =>
  `${server}.auth.methods: lets nobody in: expected api_tokens or password_login, oauth with http.auth.oauth.issuer, or ` +
  "identity_provider";
const noMethods = "methods: { api_tokens: false, password_login: false, oauth: false }";

Deno.test("server.auth lets nobody in with methods that it has from http.auth, and only where it is on", async () => {
  const http = `http: { auth: { enabled: false, ${noMethods} } }\n`;
  const faults = await faultsOf(`${http}server: { auth: { enabled: true } }`);
  assert.deepEqual(faults.map((fault) => fault.replace(/^line \d+, column \d+: /, "")), [nobody("server")]);
  const own = "server: { auth: { enabled: true, methods: { oauth: false } } }";
  assert.deepEqual(await faultsOf(http + own), []);
  assert.deepEqual(await faultsOf(`server: { auth: { ${noMethods} } }`), []);
});

Deno.test("server.resource_url is asked for whichever way the two servers come to one user file", async () => {
  const issuer = (user: string) =>
    `http: { auth: { oauth: { issuer: "https://mcp.example.com" }${user} } }\ndata_dir: data\n`;
  const server = (user: string) => `server: { port: 0, auth: { enabled: true${user} } }`;
  const faultsWith = (http: string, rag: string) => faultsOf(issuer(http) + server(rag), ["-http", "-rag"]);
  const own = (file: string) => `, user_file: ${file}`;
  for (
    const [http, rag] of [["", ""], ["", own("users.yaml")], [own("/etc/postern/users.yaml"), ""], [
      own("a.yaml"),
      own("./a.yaml"),
    ]]
  ) {
    assert.deepEqual((await faultsWith(http ?? "", rag ?? "")).map((fault) => fault.replace(/^.*?: /, "")), [
      "server.resource_url: is required where http.auth.oauth.issuer is given and server.address has port 0",
    ]);
  }
  assert.deepEqual(await faultsWith("", own("rag.yaml")), []);
});
