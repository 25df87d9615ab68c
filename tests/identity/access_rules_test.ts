import assert from "node:assert/strict";
import type { Principal, TokenLimits } from "../../src/core/principal.ts";
import { type AccessObject, accessTo, grantedTo, visibleTo } from "../../src/identity/access_rules.ts";

// the grid of the document: one open database, one for two users, one for three
const databases = [
  { kind: "database", name: "open", available_to_users: [], port: 1 },
  { kind: "database", name: "two", available_to_users: ["alice", "bob"], port: 2 },
  { kind: "database", name: "three", available_to_users: ["alice", "bob", "charlie"], port: 3 },
] as const;
const objects: readonly AccessObject[] = [
  { kind: "server", name: "" },
  ...databases,
  { kind: "database", name: "ops", available_to_users: ["group:ops"] },
  { kind: "database", name: "mixed", available_to_users: ["dave", "group:ops"] },
  // of the same names as databases
  { kind: "pipeline", name: "open", available_to_users: [] },
  { kind: "pipeline", name: "two", available_to_users: ["alice", "bob"] },
  { kind: "pipeline", name: "ops", available_to_users: ["group:ops"] },
  { kind: "tool", name: "plain" },
  { kind: "tool", name: "listed", available_to_users: ["alice"] },
  { kind: "tool", name: "scoped", scopes: ["read"] },
  { kind: "tool", name: "both", available_to_users: ["group:ops"], scopes: ["read", "write"] },
  { kind: "resource", name: "plain" },
  { kind: "resource", name: "listed", available_to_users: ["alice"] },
  { kind: "resource", name: "scoped", scopes: ["read"] },
  // of the same names as databases
  { kind: "question", name: "open", available_to_users: [] },
  { kind: "question", name: "two", available_to_users: ["alice", "bob"] },
  { kind: "question", name: "ops", available_to_users: ["group:ops"] },
  { kind: "prompt", name: "open", available_to_users: [] },
  { kind: "prompt", name: "two", available_to_users: ["alice", "bob"] },
  { kind: "prompt", name: "ops", available_to_users: ["group:ops"] },
];
const nameOf = ({ kind, name }: AccessObject) => kind === "server" ? kind : `${kind}:${name}`;

const user = (username: string, scopes?: readonly string[]): Principal => ({
  kind: "session",
  id: "s1",
  username,
  ...(scopes === undefined ? {} : { scopes }),
});
const token = (database?: string): Principal => ({
  kind: "token",
  id: "token-1",
  ...(database === undefined ? {} : { database }),
});
const limited = (limits: TokenLimits): Principal => ({ kind: "token", id: "token-2", limits });
const stranger = (more: { groups?: readonly string[]; scopes?: readonly string[]; account?: string } = {}) =>
  ({
    kind: "issuer",
    issuer: "https://idp.example.com",
    subject: "alice",
    name: "alice",
    groups: [],
    ...more,
  }) satisfies Principal;

const others = "resource:plain resource:scoped question:open prompt:open";
const open = `server database:open pipeline:open tool:plain tool:scoped ${others}`;
const ofAlice = "server database:open database:two database:three pipeline:open pipeline:two " +
  "tool:plain tool:listed tool:scoped resource:plain resource:listed resource:scoped " +
  "question:open question:two prompt:open prompt:two";
const ofOps = "server database:open database:ops database:mixed pipeline:open pipeline:ops " +
  "tool:plain tool:scoped tool:both resource:plain resource:scoped question:open question:ops prompt:open prompt:ops";
/** With a plus at each tool and resource but one. */
const lacking = (text: string, one: string) =>
  text.replaceAll(/(?:tool|resource):\w+/g, (each) => each === one ? each : `${each}+`);

/** What each kind of caller may know of. A plus marks what needs scopes that the caller's token lacks. */
const callers: [title: string, principal: Principal, visible: string][] = [
  ["the local caller", { kind: "local" }, objects.map(nameOf).join(" ")],
  ["the local caller of an address", { kind: "local", address: "::1" }, objects.map(nameOf).join(" ")],
  ["a user in no list", user("zoe"), open],
  ["a user in several lists", user("alice"), ofAlice],
  ["a user in the longer list alone", user("charlie"), open.replace("pipeline", "database:three pipeline")],
  ["a user in a list beside a group", user("dave"), open.replace("pipeline", "database:mixed pipeline")],
  ["a user whose name differs in case", user("Alice"), open],
  ["a user with the name of a property", user("length"), open],
  ["a user called as a group's entry", user("group:ops"), open],
  ["a user called as a group", user("ops"), open],
  ["a user with a token to read databases", user("alice", ["db:read"]), ofAlice],
  ["a user with a token to ask for documents", user("alice", ["docs:ask"]), lacking(ofAlice, "")],
  ["a user with a token for no scope", user("alice", []), lacking(ofAlice, "")],
  [
    "a user with an issuer's scope in a token of Postern's own",
    user("alice", ["read"]),
    lacking(ofAlice, ""),
  ],
  ["a user with a token for a tool", user("alice", ["tool:plain"]), lacking(ofAlice, "tool:plain")],
  [
    "a user with a token for the tool that reads resources",
    user("alice", ["tool:read_resource"]),
    ofAlice.replaceAll(/tool:\w+/g, "$&+"),
  ],
  ["a token that is not bound", token(), open],
  [
    "a token bound to the open database",
    token("open"),
    `server database:open tool:plain tool:scoped ${others}`,
  ],
  [
    "a token bound to a listed database",
    token("two"),
    `server database:two tool:plain tool:scoped ${others}`,
  ],
  [
    "a token bound to a group's database",
    token("ops"),
    `server database:ops tool:plain tool:scoped ${others}`,
  ],
  ["a token bound to a database that is gone", token("gone"), `server tool:plain tool:scoped ${others}`],
  ["a token bound to no name", token(""), `server tool:plain tool:scoped ${others}`],
  [
    "a token for one tool",
    limited({ tools: ["plain"] }),
    "server database:open tool:plain question:open",
  ],
  [
    "a token for a tool that has a list, or that there is not",
    limited({ tools: ["listed", "gone"] }),
    "server database:open question:open",
  ],
  [
    "a token for the tool that reads resources",
    limited({ tools: ["read_resource"] }),
    "server database:open resource:plain resource:scoped question:open",
  ],
  [
    "a token for the tool that asks pipelines",
    limited({ tools: ["ask_pipeline"] }),
    "server database:open pipeline:open question:open",
  ],
  [
    "a token for two databases",
    limited({ databases: ["two", "ops"] }),
    `server database:two database:ops tool:plain tool:scoped ${others}`,
  ],
  [
    "a token for pipelines, of which one has a list",
    limited({ pipelines: ["open", "two"] }),
    "server pipeline:open question:open prompt:open",
  ],
  [
    "a token for a pipeline and a tool that reads databases",
    limited({ pipelines: ["open"], tools: ["plain"] }),
    "server pipeline:open tool:plain question:open",
  ],
  [
    "a token for a tool, a database and a pipeline",
    limited({ tools: ["plain"], databases: ["two"], pipelines: ["open"] }),
    "server database:two pipeline:open tool:plain question:open",
  ],
  ["a token for networks alone", limited({ networks: ["192.0.2.0/24"] }), open],
  ["an issuer's subject with the name of a user", stranger(), open],
  ["an issuer's subject in a group", stranger({ groups: ["staff", "ops"] }), ofOps],
  ["an issuer's subject in a group of the entry's text", stranger({ groups: ["group:ops"] }), open],
  ["an issuer's subject with an account", stranger({ account: "alice" }), ofAlice],
  [
    "an issuer's subject with one scope of two",
    stranger({ groups: ["ops"], scopes: ["write"] }),
    ofOps.replaceAll("scoped", "scoped+").replace("both", "both+"),
  ],
  ["an issuer's subject with all scopes", stranger({ groups: ["ops"], scopes: ["write", "read"] }), ofOps],
];
for (const [title, principal, visible] of callers) {
  Deno.test(`accessTo() says of every object what ${title} may do with it`, () => {
    const marks = { granted: "", insufficient_scope: "+" };
    const found = objects.flatMap((object) => {
      const { kind } = accessTo(principal, object);
      return kind === "hidden" ? [] : [nameOf(object) + marks[kind]];
    });
    assert.equal(found.join(" "), visible);
    assert.equal(visibleTo(principal, objects).map(nameOf).join(" "), visible.replaceAll("+", ""));
    assert.equal(grantedTo(principal, objects).map(nameOf).join(" "), visible.replaceAll(/ \S+\+/g, ""));
  });
}

Deno.test("accessTo() names all scopes that an object needs, and those that the token lacks", () => {
  const object = { kind: "tool", name: "both", scopes: ["read", "write"] } as const;
  const access = accessTo(stranger({ scopes: ["read"] }), object);
  const missing = "the access token does not have the scope write";
  assert.deepEqual(access, { kind: "insufficient_scope", scopes: ["read", "write"], missing });
});

Deno.test("grantedTo() keeps the order and the items of the configuration", () => {
  const reversed = databases.toReversed();
  assert.deepEqual(grantedTo(user("bob"), reversed).map((database) => database.port), [3, 2, 1]);
  assert.equal(grantedTo(user("bob"), reversed)[0], reversed[0]);
});

Deno.test("a token for pipelines alone has the tools and resources of documents, and no others", () => {
  const tools = ["ask_pipeline", "search", "usage", "query_database", "read_resource", "generate_embedding"];
  const ofKind = (kind: "tool" | "resource", names: readonly string[]) =>
    names.map((name): AccessObject => ({ kind, name }));
  const all = [...ofKind("tool", tools), ...ofKind("resource", ["document", "schema", "custom://totals"])];
  const found = (limits: TokenLimits) => visibleTo(limited(limits), all).map(nameOf);
  const ofDocuments = ["tool:ask_pipeline", "tool:search", "tool:usage", "resource:document"];
  assert.deepEqual(found({ pipelines: ["open"] }), ofDocuments);
  assert.deepEqual(found({ pipelines: ["open"], databases: ["open"] }), all.map(nameOf));
});

const needs: [scopes: string[], kind: AccessObject["kind"], name: string, missing: string | undefined][] = [
  [["db:read"], "tool", "ask_pipeline", "docs:ask"],
  [["db:read"], "tool", "search", "docs:ask"],
  [["db:read"], "tool", "fetch", "docs:ask"],
  [["db:read"], "resource", "document", "docs:ask"],
  [["db:read"], "server", "rag_server", "docs:ask"],
  [["tool:search"], "tool", "ask_pipeline", "docs:ask"],
  [["tool:search"], "server", "rag_server", undefined],
  [["docs:ask"], "server", "rag_server", undefined],
  [["docs:ask"], "server", "tool_server", undefined],
  [["docs:ask"], "resource", "document", undefined],
  [["docs:ask"], "resource", "schema", "db:read"],
  [["tool:get_schema_info"], "resource", "schema", undefined],
  [["tool:get_schema_info"], "resource", "databases", "db:read"],
  [["docs:ask"], "tool", "query_database", "db:read"],
  [[], "tool", "logout", undefined],
];
for (const [scopes, kind, name, missing] of needs) {
  Deno.test(`a token of Postern's own with ${scopes} ${missing ? `needs ${missing} for` : "reaches"} ${kind} ${name}`, () => {
    const access = accessTo(user("alice", scopes), { kind, name });
    const expected = missing === undefined ? { kind: "granted" } : {
      kind: "insufficient_scope",
      scopes: [...scopes, missing],
      missing: `the access token does not have the scope ${missing}`,
    };
    assert.deepEqual(access, expected);
  });
}
