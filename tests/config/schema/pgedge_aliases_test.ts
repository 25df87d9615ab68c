import assert from "node:assert/strict";
import { parseFlags } from "../../../src/cli/parse_flags.ts";
import { ConfigError, configJsonSchema, faultText, loadConfig } from "../../../src/config/mod.ts";
import { aliases } from "../../../src/config/schema/pgedge_aliases.ts";
import { optionsFor } from "../load_options.ts";
import { valueAt } from "../../../src/core/yaml/value_tree.ts";

const pipeline = (database: string) =>
  `pipelines: [{ name: p, database: { database: d, ${database} }, tables: [{ table: t, text_column: a, ` +
  "vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }]";

async function load(text: string, args: string[] = [], env: Record<string, string> = {}) {
  return (await loadConfig(optionsFor(text, { env, flags: parseFlags(args) }))).config;
}

async function faultsOf(text: string): Promise<string[]> {
  const error = await loadConfig(optionsFor(text)).catch((error) => error);
  assert.ok(error instanceof ConfigError);
  return error.faults.map(faultText);
}

Deno.test("a connection takes both of pgEdge's names for its settings, in databases and in pipelines", async () => {
  const own = "user: u, sslmode: require, sslcert: c, sslkey: k, sslrootcert: r";
  const other = "username: u, ssl_mode: require, ssl_cert: c, ssl_key: k, ssl_root_ca: r";
  for (const names of [own, other]) {
    const { databases: [first], pipelines: [second] } = await load(
      `databases: [{ name: a, ${names} }]\n${pipeline(names)}`,
    );
    for (const { user, sslmode, sslcert, sslkey, sslrootcert } of [first, second?.database].map(defined)) {
      assert.deepEqual([user, sslmode, sslcert, sslkey, sslrootcert], [
        "u",
        "require",
        "/etc/postern/c",
        "/etc/postern/k",
        "/etc/postern/r",
      ]);
    }
  }
});

Deno.test("a name of digits keeps its leading zeros under another name too", async () => {
  const { databases: [database] } = await load("databases: [{ name: a, username: 007 }]");
  assert.equal(database?.user, "007");
});

Deno.test("a listener takes an address, or its halves, and what they leave out is the default", async () => {
  const cases: [yaml: string, http: [string, number], server: [string, number]][] = [
    ["", ["", 8080], ["0.0.0.0", 8080]],
    ["address: '127.0.0.1:9000'", ["127.0.0.1", 9000], ["127.0.0.1", 9000]],
    ["listen_address: 127.0.0.1, port: 9000", ["127.0.0.1", 9000], ["127.0.0.1", 9000]],
    ["port: 9000", ["", 9000], ["0.0.0.0", 9000]],
    ["listen_address: '::1'", ["::1", 8080], ["::1", 8080]],
    ["listen_address: '', port: []", ["", 8080], ["0.0.0.0", 8080]],
    ["address: '127.0.0.1:9000', port:", ["127.0.0.1", 9000], ["127.0.0.1", 9000]],
  ];
  for (const [yaml, http, server] of cases) {
    const config = await load(`http: { ${yaml} }\nserver: { ${yaml} }`);
    const { address } = config.server;
    assert.deepEqual([config.http.address.host, config.http.address.port], http, yaml);
    assert.deepEqual([address.host, address.port], server, yaml);
  }
});

Deno.test("flags and variables give a half of what the file has, or the whole", async () => {
  const file = "server: { address: '127.0.0.1:9000' }";
  const addressFrom = async (text: string, args: string[], env: Record<string, string> = {}) => {
    const { host, port } = (await load(text, args, env)).server.address;
    return `${host} ${port}`;
  };
  assert.equal(await addressFrom(file, ["-rag", "-rag-port", "9001"]), "127.0.0.1 9001");
  assert.equal(await addressFrom(file, ["-rag", "-rag-listen", "::1"]), "::1 9000");
  assert.equal(await addressFrom(file, [], { POSTERN_SERVER_PORT: "9002" }), "127.0.0.1 9002");
  assert.equal(
    await addressFrom("server: { port: 9000 }", [], { POSTERN_SERVER_ADDRESS: "127.0.0.2:7" }),
    "127.0.0.2 7",
  );
  const environment = { POSTERN_SERVER_LISTEN_ADDRESS: "127.0.0.3", POSTERN_SERVER_PORT: "9002" };
  assert.equal(await addressFrom(file, ["-rag", "-rag-port", "9003"], environment), "127.0.0.3 9003");
  assert.equal(await addressFrom("", ["-demo", "-rag", "-rag-port", "9003"]), "127.0.0.1 9003");
  assert.equal(await addressFrom("", ["-demo", "-rag", "-http"]), "127.0.0.1 8081");
});

Deno.test("a fault names the setting as the file, the variable or the flag does", async () => {
  assert.deepEqual(
    await faultsOf(`databases:\n  - name: a\n    ssl_mode: always\nserver:\n  port: many\n`),
    [
      "line 3, column 15: databases[0].ssl_mode: expected one of disable, allow, prefer, require, verify-ca, " +
      'verify-full; got "always"',
      'line 5, column 9: server.port: expected a whole number from 0 to 65535; got "many"',
    ],
  );
  for (const port of ["70000", ""]) {
    const error = await load("", ["-rag", "-rag-port", port]).catch((error) => error);
    assert.match(error.message, /-rag-port: server\.port: expected a whole number/);
  }
});

Deno.test("a fault names the half of an address that is wrong, and both where both are", async () => {
  const host = "expected a host's name or address, or a socket's folder";
  const port = "expected a whole number from 0 to 65535";
  assert.deepEqual(
    await faultsOf(
      `http: { listen_address: { a: b }, port: 80 }\nserver: { listen_address: a b, port: "80" }`,
    ),
    [
      `line 1, column 9: http.listen_address: ${host}; got a mapping`,
      `line 2, column 27: server.listen_address: ${host}; got "a b"`,
      `line 2, column 38: server.port: ${port}; got "80"`,
    ],
  );
  assert.deepEqual(await faultsOf("server: { listen_address: 'host:1', port: 80 }"), [
    "line 1, column 27: server.listen_address: expected an address such as :8080, 127.0.0.1:8080 or " +
    '[::1]:8080; got "[host:1]:80"',
  ]);
});

Deno.test("an unknown key is told of the other name that it is near to", async () => {
  assert.deepEqual(await faultsOf("server: { prt: 80 }\ndatabases: [{ name: a, usrname: u }]"), [
    'line 1, column 11: server.prt: unknown key; did you mean "port"?',
    'line 2, column 24: databases[0].usrname: unknown key; did you mean "username"?',
  ]);
});

Deno.test("a setting and its other name cannot be given together", async () => {
  assert.deepEqual(
    await faultsOf("databases: [{ name: a, user: u, username: u }]\nhttp: { address: ':80', port: 80 }"),
    [
      "line 1, column 43: databases[0].username: cannot be given together with user, which is the same",
      "line 2, column 31: http.port: cannot be given together with address, which is the same",
    ],
  );
});

Deno.test("the JSON Schema knows every other name", () => {
  const schema = configJsonSchema();
  assert.equal(aliases.length, 14);
  for (const { holder, alias } of aliases) {
    const path = holder.split(".").flatMap((part) =>
      part.endsWith("[]") ? ["properties", part.slice(0, -2), "items"] : ["properties", part]
    );
    assert.ok(valueAt(schema, [...path, "properties", alias]), `${holder}.${alias}`);
  }
});

function defined<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
