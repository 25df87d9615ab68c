import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createStatementGuard } from "../../../src/postgres/guard/statement_guard.ts";
import { type Change, createChanges } from "../../../src/tool_server/changes.ts";
import { createOfferedDefinitions } from "../../../src/tool_server/definitions/offered_definitions.ts";
import { readDefinitions } from "../../../src/tool_server/definitions/read_definitions.ts";
import { createResourceRegistry } from "../../../src/tool_server/resources/resource_registry.ts";
import { createDatabaseDirectory } from "../../../src/tool_server/tools/databases/database_directory.ts";
import { createRegistry } from "../../../src/tool_server/tools/registry.ts";

async function setUp(
  options: { readonly listsDefined?: boolean; readonly scopesByTool?: Readonly<Record<string, string[]>> } =
    {},
) {
  const guard = await createStatementGuard();
  const registry = createRegistry({ tools: [], ...options });
  const changes = createChanges();
  const told: Change["kind"][] = [];
  changes.subscribe(({ kind }) => void told.push(kind), { principal: { kind: "local" }, uris: [] });
  const offered = createOfferedDefinitions({
    ...options,
    directory: createDatabaseDirectory([]),
    changes,
    replaceTools: registry.replaceDefined,
  });
  return {
    registry,
    resources: createResourceRegistry([offered.resources]),
    async offer(text: string) {
      const checks = { guard, signal: new AbortController().signal, databases: [] };
      const { definitions, faults } = await readDefinitions(text, checks);
      assert.deepEqual(faults, []);
      assert.ok(definitions);
      offered.offer(definitions);
      return told.splice(0);
    },
  };
}

const tool = (rest: string) => `tools: [{ name: one, description: One, type: sql, sql: SELECT 1${rest} }]\n`;
const prompt = "prompts: [{ name: p, messages: [{ role: user, content: { type: text, text: Hi } }] }]\n";
const resource = "resources: [{ uri: 'custom://r', name: R, type: static, data: 1 }]\n";

Deno.test("a change is told of for each list that is another now, and for no other", async () => {
  const { offer } = await setUp();
  assert.deepEqual(await offer(tool("")), ["tools"]);
  assert.deepEqual(await offer(tool(" + 1")), []);
  assert.deepEqual(await offer(tool(", title: Another")), ["tools"]);
  assert.deepEqual(await offer(tool(", title: Another, available_to_users: [alice]")), ["tools"]);
  assert.deepEqual(await offer(prompt + resource), ["tools", "prompts", "resources"]);
  assert.deepEqual(await offer(prompt.replace("Hi", "Ho") + resource.replace("data: 1", "data: 2")), []);
  assert.deepEqual(await offer(prompt), ["resources"]);
});

Deno.test("all who see the same tools get one and the same list", async () => {
  const { registry, offer } = await setUp();
  await offer(tool("") + prompt);
  const session = (username: string) => ({ kind: "session" as const, id: username, username });
  assert.equal(registry.listTools({ kind: "local" }), registry.listTools(session("alice")));
  await offer(
    `tools:
  - { name: all, description: All, type: sql, sql: SELECT 1 }
  - { name: of_alice, description: Hers, type: sql, sql: SELECT 1, available_to_users: [alice] }`,
  );
  assert.deepEqual(registry.listTools(session("alice")).map(({ name }) => name), ["all", "of_alice"]);
  assert.deepEqual(registry.listTools(session("bob")).map(({ name }) => name), ["all"]);
  assert.equal(registry.listTools(session("bob")), registry.listTools(session("carol")));
});

Deno.test("with builtins.list: search, no list changes with the file", async () => {
  const { registry, offer } = await setUp({ listsDefined: false });
  assert.deepEqual(await offer(tool("")), []);
  assert.deepEqual(registry.listTools({ kind: "local" }), []);
  assert.deepEqual(registry.usableTools({ kind: "local" }).map(({ name }) => name), ["one"]);
});

Deno.test("a tool of the file needs the scopes that are set for its name", async () => {
  const { registry, offer } = await setUp({ scopesByTool: { one: ["db:one"] } });
  await offer(tool(""));
  const caller = (scopes: string[]) => {
    return { kind: "issuer" as const, issuer: "https://idp.example.com", subject: "a", groups: [], scopes };
  };
  const call = (scopes: string[]) =>
    registry.prepareCall("one", {}, caller(scopes)).run({
      principal: caller(scopes),
      signal: new AbortController().signal,
      logger: silentLogger,
    });
  assert.throws(() => call([]), { code: "forbidden", data: { scopes: ["db:one"] } });
  assert.match(JSON.stringify(await call(["db:one"])), /none is available to you/);
  // what a model finds it can call
  assert.deepEqual(registry.usableTools(caller([])), []);
});

Deno.test("a resource of the file is listed for a token without its scope, which reading it names", async () => {
  const { resources, offer } = await setUp();
  await offer(resource.replace("data: 1", "data: 1, available_to_users: [alice]"));
  const read = (username: string, scopes: string[]) => {
    const principal = { kind: "session" as const, id: username, username, scopes };
    const context = { principal, signal: new AbortController().signal, logger: silentLogger };
    return [resources.list(principal).length, () => resources.read("custom://r", context)] as const;
  };
  const [listed, refused] = read("alice", ["docs:ask"]);
  assert.equal(listed, 1);
  await assert.rejects(refused, {
    code: "forbidden",
    message: 'Cannot read resource "custom://r": the access token does not have the scope db:read',
    data: { scopes: ["docs:ask", "db:read"] },
  });
  const [, allowed] = read("alice", ["db:read"]);
  assert.equal((await allowed()).contents[0]?.text, "1");
  const [hidden, missing] = read("bob", ["docs:ask"]);
  assert.equal(hidden, 0);
  await assert.rejects(missing, { code: "not_found" });
});

Deno.test("a resource of the file needs the scopes of the tool that reads it", async () => {
  const { resources, offer } = await setUp({ scopesByTool: { read_resource: ["db:more"] } });
  await offer(resource);
  const read = (...scopes: string[]) => {
    const subject = { issuer: "https://idp.example.com", subject: "a", groups: [], scopes };
    const principal = { kind: "issuer" as const, ...subject };
    return resources.read("custom://r", {
      principal,
      signal: new AbortController().signal,
      logger: silentLogger,
    });
  };
  await assert.rejects(read("db:read"), { code: "forbidden", data: { scopes: ["db:more"] } });
  assert.equal((await read("db:read", "db:more")).contents[0]?.text, "1");
});
