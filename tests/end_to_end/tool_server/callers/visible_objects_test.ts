import assert from "node:assert/strict";
import { logIn, serve, writeUsers } from "../../../support/accounts.ts";
import { createConfigFolder, databaseEntry } from "../../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../../support/database.ts";
import { startTokenIssuer, testAudience } from "../../../support/token_issuer.ts";
import { createToolClient } from "../../../support/tool_client.ts";
import { waitUntil } from "../../../support/wait_until.ts";

/** Never reached: it is enough to see who may know of it. */
const pipeline = (name: string, users: string) => `
  - name: ${name}
    database: { host: 127.0.0.1, port: 1, database: none }
    tables: [{ table: pages, text_column: content, vector_column: embedding }]
    embedding_llm: { provider: local }
    rag_llm: { provider: local }
    allow_include_sources: true
    available_to_users: [${users}]`;

/** Whose a definition of each kind is; `hers` is for all who may use that database. */
const owners = {
  all: "database: open",
  alice: "database: open\n    available_to_users: [alice]",
  staff: "database: open\n    available_to_users: ['group:staff']",
  hers: "database: hers",
};
type Owner = keyof typeof owners;

const each = (entry: (owner: Owner) => string) =>
  (Object.keys(owners) as Owner[]).map((owner) => `${entry(owner)}\n    ${owners[owner]}\n`).join("");
const definitions = `
tools:
${each((owner) => `  - name: tool_${owner}\n    description: d\n    type: sql\n    sql: SELECT 1 AS n`)}
resources:
${each((owner) => `  - uri: custom://${owner}\n    name: r\n    type: sql\n    sql: SELECT 1 AS n`)}
prompts:
${
  each((owner) =>
    `  - name: prompt-${owner}\n    description: d\n    messages: [{ role: user, content: { type: text, text: x } }]`
  ).replaceAll(/\n {4}database: \w+/g, "").replace(/ {2}- name: prompt-hers[^]*$/, "")
}
questions:
${each((owner) => `  - question: number of things ${owner}\n    sql: SELECT 1 AS n`)}`;

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
  const defined = async (listed: readonly string[], use: (owner: Owner) => Promise<boolean>) => {
    const usable = [];
    for (const owner of Object.keys(owners) as Owner[]) if (await use(owner)) usable.push(owner);
    // whoever is not shown it cannot use it either
    assert.deepEqual(usable, listed);
    return listed.join(" ");
  };
  const ofKind = (list: readonly string[], prefix: string) =>
    list.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
  const uris = (await ask("resources/list")).resources.map(({ uri }: { uri: string }) => uri);
  const listedPrompts = names((await ask("prompts/list")).prompts);
  const listedTools = ofKind(names(tools), "tool_");
  const call = async (name: string, given = {}) => {
    const { isError, content } = await ask("tools/call", { name, arguments: given });
    return content !== undefined && isError !== true;
  };
  const own = {
    tools: await defined(listedTools, (owner) => call(`tool_${owner}`)),
    resources: await defined(
      ofKind(uris, "custom://"),
      async (owner) => (await ask("resources/read", { uri: `custom://${owner}` })).contents !== undefined,
    ),
    prompts: await defined(
      ofKind(listedPrompts, "prompt-"),
      async (owner) => (await ask("prompts/get", { name: `prompt-${owner}` })).messages !== undefined,
    ),
    questions: await defined(listedTools, (owner) =>
      call("query_database", {
        query: `number of things ${owner}`,
        database: owner === "hers" ? "hers" : "open",
      })),
  };
  return {
    own,
    databases,
    pipelines: [...pipelines.matchAll(/"(shared|team)"/g)].map(([, name]: RegExpMatchArray) => name).join(
      " ",
    ),
    pipelineTools: names(tools).filter((name) => ["ask_pipeline", "search", "fetch"].includes(name)).join(
      " ",
    ),
    resources: uris.filter((uri: string) => uri.startsWith("pg:")).join(" "),
    templates: (await ask("resources/templates/list")).resourceTemplates.length,
    prompts: listedPrompts.filter((name) => !name.startsWith("prompt-")).length,
  };
}

testWithPostgres("each kind of caller finds what they may use, and nothing else, by every way", async () => {
  await using open = await createTestDatabase();
  await using hers = await createTestDatabase();
  await open.query("CREATE TABLE a (id int)");
  await hers.query("CREATE TABLE secret (id int)");
  await using provider = await startTokenIssuer();
  const config = (auth: object) =>
    `databases:\n  - ${databaseEntry("open", open.name)}\n  - ${
      databaseEntry("hers", hers.name, "available_to_users: [alice]")
    }\npipelines:${pipeline("shared", "")}${
      pipeline("team", "alice")
    }\ncustom_definitions_path: definitions.yaml\nhttp: { auth: ${JSON.stringify(auth)} }\n`;
  await using folder = await createConfigFolder(config({
    identity_provider: {
      issuer: provider.issuer,
      audience: testAudience,
      groups_claim: "groups",
      trust_names: true,
    },
  }));
  await Deno.writeTextFile(`${folder.path}/definitions.yaml`, definitions);
  await writeUsers(folder, ["alice", "bob"]);
  const tokens = {
    unbound: await folder.addToken(),
    open: await folder.addToken({ database: "open" }),
    hers: await folder.addToken({ database: "hers" }),
  };
  await using server = await serve(folder);
  await waitUntil("the keys were read", () => server.stderr().includes("Read the keys of the issuer"));
  assert.doesNotMatch(server.stderr(), /definitions\.yaml:\d+/);
  const found = (token: string) => enumerate(createToolClient({ url: server.url, token }));
  const session = async (username: string) => (await logIn(server, username)).session.session_token;

  const of = (...whose: Owner[]) => {
    const all = whose.join(" ");
    return { tools: all, resources: all, questions: all, prompts: all.replace(/ ?hers/, "") };
  };
  const everybodys = { resources: "pg://databases pg://system_info", templates: 3, prompts: 4 };
  const documents = "ask_pipeline search fetch";
  const some = {
    ...everybodys,
    own: of("all"),
    databases: "open",
    pipelines: "shared",
    pipelineTools: documents,
  };
  assert.deepEqual(await found(tokens.unbound.token), some);
  assert.deepEqual(await found(await session("bob")), some);
  const hersToo = {
    ...everybodys,
    own: of("all", "alice", "hers"),
    databases: "open hers",
    pipelines: "shared team",
    pipelineTools: documents,
  };
  assert.deepEqual(await found(await session("alice")), hersToo);
  // a token that is bound to a database uses nothing else that is somebody's
  const bound = { ...everybodys, templates: 2, pipelines: "", pipelineTools: "" };
  assert.deepEqual(await found(tokens.open.token), { ...bound, own: of("all"), databases: "open" });
  assert.deepEqual(await found(tokens.hers.token), {
    ...bound,
    own: { ...of("hers"), prompts: "all" },
    databases: "hers",
  });
  const subject = async (claims: object) => await found(await provider.token({ claims: { ...claims } }));
  assert.deepEqual(await subject({ sub: "alice" }), some);
  assert.deepEqual(await subject({ groups: ["staff"] }), { ...some, own: of("all", "staff") });
  assert.deepEqual(await subject({ preferred_username: "alice" }), hersToo);
  await using local = await createConfigFolder(config({ enabled: false }));
  await Deno.writeTextFile(`${local.path}/definitions.yaml`, definitions);
  await using alone = await serve(local);
  assert.deepEqual(await enumerate(createToolClient({ url: alone.url })), {
    ...hersToo,
    own: of("all", "alice", "staff", "hers"),
  });
});
