import assert from "node:assert/strict";
import { logIn, serve, writeUsers } from "../../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { createToolClient } from "../../../support/tool_client.ts";

/** Never reached: it is enough to see who may know of it. */
const pipeline = (name: string, users: string) => `
  - name: ${name}
    database: { host: 127.0.0.1, port: 1, database: none }
    tables: [{ table: pages, text_column: content, vector_column: embedding }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    allow_include_sources: true
    available_to_users: [${users}]`;

type Client = ReturnType<typeof createToolClient>;

/** What one caller finds of each kind, by every way there is to look for it. */
async function enumerate(client: Client) {
  const ask = async (method: string, params = {}) => {
    const { result, error } = await client.request(method, params);
    return result ?? error;
  };
  const read = async (uri: string) => {
    const { contents, message } = await ask("resources/read", { uri });
    return contents === undefined ? message.replace(uri, "URI") : JSON.parse(contents[0].text);
  };
  const complete = async (ref: object, name: string, given = {}) => {
    const argument = { name, value: "" };
    const { completion } = await ask("completion/complete", { ref, argument, context: { arguments: given } });
    return completion.values.join(" ");
  };
  const template = { type: "ref/resource", uri: "pg://{database}/{schema}/{table}" };
  const names = (list: readonly { name: string }[]) => list.map(({ name }) => name);
  const { tools } = await ask("tools/list");
  const databases = names((await read("pg://databases")).databases).join(" ");
  const { structuredContent } = await ask("tools/call", { name: "list_databases" });
  assert.equal(names(structuredContent.databases).join(" "), databases);
  assert.equal(await complete(template, "database"), databases);
  const prompt = { type: "ref/prompt", name: "explore-database" };
  assert.equal(await complete(prompt, "database"), databases);
  for (const name of ["open", "hers", "none"]) {
    const isThere = databases.split(" ").includes(name);
    const tables = isThere ? name === "open" ? "a" : "secret" : "";
    assert.equal(await complete(template, "table", { database: name }), tables);
    assert.equal(await complete(prompt, "schema", { database: name }), isThere ? "public" : "");
    const missing = 'Cannot read resource "URI": there is no such resource';
    const schema = await read(`pg://${name}/schema`);
    assert.equal(
      typeof schema === "string" ? schema : names(schema.tables).join(" "),
      isThere ? tables : missing,
    );
    const table = await read(`pg://${name}/public/${tables || "secret"}`);
    assert.equal(typeof table === "string" ? table : table.table.name, isThere ? tables : missing);
    const tool = await ask("tools/call", {
      name: "read_resource",
      arguments: { uri: `pg://${name}/schema` },
    });
    assert.equal(tool.isError ?? false, !isThere);
    const got = await ask("prompts/get", { name: "explore-database", arguments: { database: name } });
    assert.equal(got.messages !== undefined, isThere, JSON.stringify(got));
  }
  const { content: [{ text: pipelines }] } = await ask("tools/call", {
    name: "ask_pipeline",
    arguments: { pipeline: "none", question: "?" },
  }).then((result) => result.content === undefined ? { content: [{ text: result.message }] } : result);
  return {
    databases,
    pipelines: [...pipelines.matchAll(/"(shared|team)"/g)].map(([, name]: RegExpMatchArray) => name).join(
      " ",
    ),
    pipelineTools: names(tools).filter((name) => ["ask_pipeline", "search", "fetch"].includes(name)).join(
      " ",
    ),
    resources: (await ask("resources/list")).resources.map(({ uri }: { uri: string }) => uri).filter((
      uri: string,
    ) => uri.startsWith("pg:")).join(" "),
    templates: (await ask("resources/templates/list")).resourceTemplates.length,
    prompts: names((await ask("prompts/list")).prompts).length,
  };
}

testWithPostgres("each kind of caller finds what they may use, and nothing else, by every way", async () => {
  await using open = await createTestDatabase();
  await using hers = await createTestDatabase();
  await open.query("CREATE TABLE a (id int)");
  await hers.query("CREATE TABLE secret (id int)");
  await using folder = await createConfigFolder(
    `databases:\n  - ${databaseEntry("open", open.name)}\n  - ${
      databaseEntry("hers", hers.name, "available_to_users: [alice]")
    }\npipelines:${pipeline("shared", "")}${pipeline("team", "alice")}\n`,
  );
  await writeUsers(folder, ["alice", "bob"]);
  const tokens = {
    unbound: await folder.addToken(),
    open: await folder.addToken("-token-database", "open"),
    hers: await folder.addToken("-token-database", "hers"),
  };
  await using server = await serve(folder);
  const found = (token: string) => enumerate(createToolClient({ url: server.url, token }));
  const session = async (username: string) => (await logIn(server, username)).session.session_token;

  const everybodys = { resources: "pg://databases pg://system_info", templates: 3, prompts: 4 };
  const documents = "ask_pipeline search fetch";
  const some = { ...everybodys, databases: "open", pipelines: "shared", pipelineTools: documents };
  assert.deepEqual(await found(tokens.unbound.token), some);
  assert.deepEqual(await found(await session("bob")), some);
  assert.deepEqual(await found(await session("alice")), {
    ...everybodys,
    databases: "open hers",
    pipelines: "shared team",
    pipelineTools: documents,
  });
  // a token that is bound to a database uses nothing else that is somebody's
  const bound = { ...everybodys, templates: 2, pipelines: "", pipelineTools: "" };
  assert.deepEqual(await found(tokens.open.token), { ...bound, databases: "open" });
  assert.deepEqual(await found(tokens.hers.token), { ...bound, databases: "hers" });
});
