import assert from "node:assert/strict";
import {
  assignSources,
  type KnownSource,
  type SourceKnowledge,
} from "../../../src/rag_server/ingest/assign_sources.ts";
import type { GivenPath } from "../../../src/rag_server/ingest/given_paths.ts";

/** A folder, or a file where its last name has a dot; the name as written is the last one of the path. */
function given(location: string, folderName?: string): GivenPath {
  const isFolder = !/\.[^/]*$/.test(location);
  const names = location.split("/");
  return {
    location,
    isFolder,
    given: location,
    folderName: folderName ?? names.at(isFolder ? -1 : -2) ?? "",
  };
}

const docs: KnownSource = { name: "docs", folder: "/srv/docs", isWhole: true };

/** Name, folder and paths of each source. */
function assign(paths: readonly (string | GivenPath)[], knowledge: Partial<SourceKnowledge> = {}): unknown {
  const sources = assignSources(paths.map((path) => typeof path === "string" ? given(path) : path), {
    configured: [],
    known: [],
    ...knowledge,
  });
  return sources.map(({ name, folder, scopes }) => [name, folder, ...scopes.map(({ path }) => path)]);
}

Deno.test("a folder is called by its last name as it was written, a file is its folder's", () => {
  assert.deepEqual(assign(["/srv/docs"]), [["docs", "/srv/docs", ""]]);
  assert.deepEqual(assign([given("/srv/releases/42", "current")]), [["current", "/srv/releases/42", ""]]);
  assert.deepEqual(assign(["/srv/docs/a.md", "/srv/docs/b.md"]), [["docs", "/srv/docs", "a.md", "b.md"]]);
  assert.deepEqual(assign([given("/srv/Gro\u0308\u00dfe")]), [[
    "Gr\u00f6\u00dfe",
    "/srv/Gro\u0308\u00dfe",
    "",
  ]]);
  assert.deepEqual(assign(["/srv/wiki", "/srv/docs"]), [["wiki", "/srv/wiki", ""], [
    "docs",
    "/srv/docs",
    "",
  ]]);
  assert.throws(() => assign(["/"]), {
    code: "invalid",
    message: "Cannot ingest /: the folder has no name; give it one with -source NAME",
  });
  assert.deepEqual(assign(["/"], { sourceName: "all" }), [["all", "/", ""]]);
  assert.deepEqual(assign(["/srv/docs"], { sourceName: "all" }), [["all", "/srv/docs", ""]]);
});

Deno.test("a path in another one of the same run, or in a known folder, is a part of it", () => {
  assert.deepEqual(assign(["/srv/docs/api", "/srv/docs"]), [["docs", "/srv/docs", ""]]);
  assert.deepEqual(assign(["/srv/docs", "/srv/docs"]), [["docs", "/srv/docs", ""]]);
  assert.deepEqual(assign(["/srv/docs"], { known: [{ ...docs, name: "api", folder: "/srv/docs/api" }] }), [
    ["docs", "/srv/docs", ""],
  ]);
  assert.deepEqual(assign(["/srv/docs/api", "/srv/docs/x/y.md", "/srv/docs/api/v2"], { known: [docs] }), [
    ["docs", "/srv/docs", "api", "x/y.md"],
  ]);
  // another name of the same folder changes nothing
  assert.deepEqual(assign([given("/srv/docs", "link")], { known: [docs] }), [["docs", "/srv/docs", ""]]);
  assert.deepEqual(assign(["/srv/docs-2"], { known: [docs] }), [["docs-2", "/srv/docs-2", ""]]);
  // single files of a folder do not make its other folders a part of it
  const files = { ...docs, isWhole: false };
  assert.deepEqual(assign(["/srv/docs/api"], { known: [files] }), [["api", "/srv/docs/api", ""]]);
  assert.deepEqual(assign(["/srv/docs/b.md"], { known: [files] }), [["docs", "/srv/docs", "b.md"]]);
  assert.deepEqual(
    assign(["/srv/docs/api"], { known: [docs, { ...docs, name: "api", folder: "/srv/docs/api" }] }),
    [
      ["api", "/srv/docs/api", ""],
    ],
  );
});

Deno.test("a path in a configured source is a part of it, under that name alone", () => {
  const configured = [{ name: "handbook", path: "/current", folder: "/srv/docs" }];
  assert.deepEqual(assign(["/srv/docs/api"], { configured, known: [docs] }), [[
    "handbook",
    "/srv/docs",
    "api",
  ]]);
  assert.deepEqual(assign(["/srv/docs"], { configured, sourceName: "handbook" }), [[
    "handbook",
    "/srv/docs",
    "",
  ]]);
  assert.throws(() => assign(["/srv/docs"], { configured, sourceName: "other" }), {
    message:
      'Cannot ingest /srv/docs as source "other": the configuration has it as source "handbook"; leave -source out',
  });
  assert.throws(() => assign(["/tmp/handbook"], { configured }), {
    message:
      'Cannot ingest /tmp/handbook as source "handbook": the configuration has /current under this name; ' +
      "give another name with -source NAME",
  });
  assert.deepEqual(assign(["/tmp/handbook"], { configured, sourceName: "handbook" }), [
    ["handbook", "/tmp/handbook", ""],
  ]);
});

Deno.test("a folder around a configured source is refused", () => {
  const configured = [{ name: "handbook", path: "/current", folder: "/srv/docs" }];
  for (const sourceName of [undefined, "all", "handbook"]) {
    assert.throws(() => assign(["/srv"], { configured, sourceName }), {
      code: "invalid",
      message:
        'Cannot ingest /srv: source "handbook" of the configuration (/current) lies in it, so its files would ' +
        "be in the table twice; give the other folders one by one, or take that source out of the configuration",
    });
  }
  assert.deepEqual(assign(["/srv/docs-2"], { configured }), [["docs-2", "/srv/docs-2", ""]]);
});

Deno.test("two folders of the same name, or one name for two, are refused", () => {
  assert.throws(() => assign(["/a/docs", "/b/docs"]), {
    code: "invalid",
    message:
      'Cannot ingest /a/docs and /b/docs together: both would be source "docs"; ingest them one after the ' +
      "other, each with a -source NAME of its own",
  });
  assert.throws(() => assign(["/a", "/b"], { sourceName: "docs" }), /both would be source "docs"/);
  assert.throws(() => assign(["/a/docs/x.md", "/b/docs/y.md"]), /both would be source "docs"/);
  assert.throws(() => assign(["/srv/docs/api"], { known: [docs], sourceName: "api" }), {
    message:
      'Cannot ingest /srv/docs/api as source "api": it is part of source "docs" (/srv/docs); leave -source out',
  });
  assert.deepEqual(assign(["/srv/docs/api"], { known: [docs], sourceName: "docs" }), [[
    "docs",
    "/srv/docs",
    "api",
  ]]);
  for (const sourceName of ["", " ", "/srv/docs"]) {
    assert.throws(() => assign(["/srv/docs"], { sourceName }), {
      message:
        `Cannot name a source "${sourceName}": expected a name that is not blank and does not begin with /`,
    });
  }
});
