import assert from "node:assert/strict";
import { type ConfigError, loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

async function stateOf(text: string) {
  return (await loadConfig(optionsFor(text))).config.state;
}

async function faultsOf(text: string): Promise<string[]> {
  const error: ConfigError = await loadConfig(optionsFor(text)).then(
    () => assert.fail("it is valid"),
    (error) => error,
  );
  return error.faults.map(({ path, message }) => `${path}: ${message}`);
}

const app =
  "{ name: app, host: db, port: 5433, database: shop, user: reader, password: p, sslmode: require }";

Deno.test("state.database takes the server of an entry of databases, and none of its credentials", async () => {
  const { database, grace } = await stateOf(
    `databases: [${app}]\nstate: { database: app, password_file: secrets/state, grace: 5s }`,
  );
  assert.equal(grace, 5_000);
  assert.deepEqual(database?.hosts, [{ host: "db", port: 5433 }]);
  assert.deepEqual(
    [database?.database, database?.user, database?.password, database?.password_file, database?.sslmode],
    ["shop", "postern_state", undefined, "/etc/postern/secrets/state", "require"],
  );
  assert.equal(database?.target_session_attrs, "read-write");
});

Deno.test("with state.host it is a database of its own", async () => {
  const { database } = await stateOf(
    `databases: [${app}]\nstate: { database: app, host: other, user: mine, sslmode: verify-full }`,
  );
  assert.deepEqual(database?.hosts, [{ host: "other", port: 5432 }]);
  assert.deepEqual([database?.database, database?.user, database?.sslmode], ["app", "mine", "verify-full"]);
});

Deno.test("a state that cannot be shared, or that callers could read, is refused by name", async () => {
  const cases = [
    ["state: { host: db }", "state.database: is required where state.host is given"],
    [
      `databases: [${app}]\nstate: { database: other }`,
      "state.database: is none of databases; for another database give state.host too",
    ],
    [
      "databases: [{ name: app, embedded: memory }]\nstate: { database: app }",
      "state.database: is an embedded database, which one process alone can use",
    ],
    [
      `databases: [${app}]\nstate: { database: app, user: reader }`,
      "state.user: is the role of that database too: callers' statements could read the state",
    ],
    [
      `databases: [${app}]\nstate: { database: shop, host: db, port: 5433, user: reader }`,
      "state.user: is the role of that database too: callers' statements could read the state",
    ],
    [
      `databases: [${app}]\nstate: { database: app, port: 5433 }`,
      "state.port: is the port of state.host, which is not given",
    ],
    [
      `databases: [${app}]\nstate: { database: app, password: p, password_file: f }`,
      "state.password_file: cannot be given together with password",
    ],
  ] as const;
  for (const [text, fault] of cases) assert.deepEqual(await faultsOf(text), [fault]);
});

Deno.test("where the state is in a database, OAuth needs no data_dir, and limits warn of none", async () => {
  const text = (state: string) =>
    `databases: [${app}]
http: { enabled: true, auth: { oauth: { issuer: "http://localhost:8080" } } }
limits: { default: { calls_per_minute: 5 } }
${state}`;
  assert.match(
    (await faultsOf(text(""))).join(),
    /^data_dir: is required where http\.auth\.oauth\.issuer is given/,
  );
  const { warnings } = await loadConfig(optionsFor(text("state: { database: app }")));
  assert.deepEqual(warnings, []);
});
