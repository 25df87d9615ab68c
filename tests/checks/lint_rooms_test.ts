import assert from "node:assert/strict";
import plugin, { mayImport, roomFault } from "../../tools/lint_rooms.ts";

Deno.test("a room may import from those below it", () => {
  assert.equal(roomFault("/x/src/tool_server/tools/count_rows.ts", "../../postgres/database.ts"), undefined);
  assert.equal(roomFault("/x/src/identity/a.ts", "./b.ts"), undefined);
  assert.equal(roomFault("/x/src/tool_server/a.ts", "zod"), undefined);
  assert.equal(roomFault("/x/tests/tool_server/a_test.ts", "../../src/cli/flags.ts"), undefined);
});

Deno.test("a room may not import from those above or beside it", () => {
  assert.equal(
    roomFault("/x/src/http/a.ts", "../postgres/database.ts"),
    'Room "http" may not import from "postgres" (allowed: core)',
  );
  assert.equal(
    roomFault("/x/src/core/a.ts", "../text/tsv.ts"),
    'Room "core" may not import from "text" (allowed: nothing)',
  );
  assert.match(roomFault("/x/src/postgres/guard/a.ts", "../../llm/b.ts") ?? "", /may not import from "llm"/);
});

Deno.test("a room may not take types either from those above it", () => {
  const source = 'export const a: import("../text/tsv.ts").A = 1; export type { B } from "../text/tsv.ts";';
  const faults = Deno.lint.runPlugin(plugin, "/x/src/core/a.ts", source);
  assert.deepEqual(faults.map(({ id }) => id), ["postern/rooms", "postern/rooms"]);
});

Deno.test("a room that the table does not know, and a way out of src, are faults", () => {
  assert.match(roomFault("/x/src/shared/a.ts", "./b.ts") ?? "", /not in the table/);
  assert.match(roomFault("/x/src/core/a.ts", "../../tools/lint_rooms.ts") ?? "", /outside src/);
});

Deno.test("config may import files of kinds and limits from any room, and nothing else of them", () => {
  const schema = "/x/src/config/schema/http.ts";
  assert.equal(roomFault(schema, "../../llm/provider_kinds.ts"), undefined);
  assert.equal(roomFault(schema, "../../rag/filter/query_limits.ts"), undefined);
  assert.match(roomFault(schema, "../../llm/provider.ts") ?? "", /may not import from "llm"/);
  assert.match(roomFault(schema, "../../llm/provider_kinds/read.ts") ?? "", /may not import from "llm"/);
  assert.match(roomFault(schema, "../../../tools/a_kinds.ts") ?? "", /outside src/);
  assert.match(roomFault("/x/src/core/a.ts", "../llm/provider_kinds.ts") ?? "", /may not import from "llm"/);
});

Deno.test("the tool server imports the RAG server's face alone, and its kinds and limits", () => {
  const tool = "/x/src/tool_server/tools/documents/a.ts";
  assert.equal(roomFault(tool, "../../../rag_server/mod.ts"), undefined);
  assert.equal(roomFault(tool, "../../../rag_server/query_limits.ts"), undefined);
  assert.match(roomFault(tool, "../../../rag_server/pipeline.ts") ?? "", /its mod\.ts alone/);
});

Deno.test("a file of kinds or limits imports nothing", () => {
  for (const specifier of ["./provider.ts", "../core/app_error.ts", "zod", "node:path"]) {
    assert.match(roomFault("/x/src/llm/provider_kinds.ts", specifier) ?? "", /imports nothing/);
    assert.match(roomFault("/x/src/rag_server/query_limits.ts", specifier) ?? "", /imports nothing/);
  }
  assert.equal(roomFault("/x/src/llm/provider_kind.ts", "zod"), undefined);
});

Deno.test("docs/architecture.md has the same table", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/architecture.md", import.meta.url));
  const rows = [...page.matchAll(/^\| `(?!src\/)(\w+)\/` +\|[^|]+\| ([^|]+?) +\|$/gm)].map((
    [, room = "", allowed = ""],
  ) => [
    room,
    allowed === "nothing"
      ? []
      : allowed.startsWith("all")
      ? Object.keys(mayImport).filter((other) => other !== "cli" && other !== room)
      : allowed.split(", "),
  ]);
  assert.deepEqual(
    rows,
    Object.entries(mayImport).map(([room, allowed]) => [room, [...allowed]]),
  );
});

Deno.test("the rooms that the table has are the folders of src", () => {
  const folders = [...Deno.readDirSync(new URL("../../src", import.meta.url))].map(({ name }) => name);
  assert.deepEqual(folders.toSorted(), Object.keys(mayImport).toSorted());
});
