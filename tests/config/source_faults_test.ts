import assert from "node:assert/strict";
import { loadConfig, sourcesOfOthers } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

function pipeline(name: string, sources: string, database = "d", table = "t"): string {
  return `- { name: ${name}, database: { database: ${database} }, sources: [${sources}], tables: [{ table: ${table}, ` +
    "text_column: a, vector_column: b }], embedding_llm: { provider: local }, rag_llm: { provider: local } }";
}

const load = (...pipelines: readonly string[]) =>
  loadConfig(optionsFor(`pipelines:\n${pipelines.map((text) => `  ${text}\n`).join("")}`));

/** Path and message of each. */
async function faults(...pipelines: readonly string[]): Promise<unknown> {
  const error = await load(...pipelines).then(() => ({ faults: [] }), (error) => error);
  return error.faults.map(({ path, message }: { path: string; message: string }) => [path, message]);
}

Deno.test("a source is called by its name or its folder's, and its path is resolved", async () => {
  const { config } = await load(
    pipeline("p", "{ path: handbook/ }, { name: wiki, path: /srv/handbook }"),
    pipeline("q", ""),
  );
  assert.deepEqual(config.pipelines.map(({ sources }) => sources), [
    [{ name: "handbook", path: "/etc/postern/handbook" }, { name: "wiki", path: "/srv/handbook" }],
    undefined,
  ]);
});

Deno.test("names are compared as they are known, in the Unicode form NFC", async () => {
  const [composed, decomposed] = ["/a/café", "/b/café"].map((path, at) =>
    path.normalize(at === 0 ? "NFC" : "NFD")
  );
  assert.deepEqual(await faults(pipeline("p", `{ path: ${composed} }, { path: ${decomposed} }`)), [
    ["pipelines[0].sources[1].name", 'pipelines[0].sources[0] already has the name "café"'.normalize("NFC")],
  ]);
});

Deno.test("two sources of a pipeline, or of pipelines with the same table, have different names", async () => {
  assert.deepEqual(await faults(pipeline("p", "{ path: /a/docs }, { path: /b/docs }")), [
    ["pipelines[0].sources[1].name", 'pipelines[0].sources[0] already has the name "docs"'],
  ]);
  assert.deepEqual(
    await faults(pipeline("p", "{ path: /a/docs }"), pipeline("q", "{ name: docs, path: /b }")),
    [[
      "pipelines[1].sources[0].name",
      'pipelines[0].sources[0] already has the name "docs", for the same table',
    ]],
  );
  assert.deepEqual(await faults(pipeline("p", "{ path: /a/docs }"), pipeline("q", "{ path: /a/docs }")), []);
  assert.deepEqual(
    await faults(pipeline("p", "{ path: /a/docs }"), pipeline("q", "{ path: /b/docs }", "e")),
    [],
  );
  assert.deepEqual(
    await faults(pipeline("p", "{ path: /a/docs }"), pipeline("q", "{ path: /b/docs }", "d", "u")),
    [],
  );
});

Deno.test("a table is the same one however its server is written", async () => {
  const [one, ...others] = ["d", "d, host: localhost", "d, port: 5432", "d, hosts: [{ host: localhost }]"]
    .map((
      database,
    ) => pipeline("p", "{ path: /a/docs }", database));
  for (const other of others) {
    const renamed = other.replace("name: p", "name: q").replace("/a/docs", "/b/docs");
    assert.deepEqual(await faults(one ?? "", renamed), [[
      "pipelines[1].sources[0].name",
      'pipelines[0].sources[0] already has the name "docs", for the same table',
    ]]);
  }
});

Deno.test("sourcesOfOthers() has the sources of other pipelines with the same table", async () => {
  const { config: { pipelines } } = await load(
    pipeline("p", "{ path: /a/docs }"),
    pipeline("q", "{ path: /a/docs }, { path: /a/wiki }"),
    pipeline("r", "{ path: /r }", "e"),
    pipeline("s", "{ path: /s }", "d", "u"),
    pipeline("t", ""),
  );
  const others = pipelines.map((each) =>
    sourcesOfOthers(each, pipelines).map(({ otherPipeline, name, path }) =>
      `${otherPipeline} ${name} ${path}`
    )
  );
  assert.deepEqual(others, [["q wiki /a/wiki"], [], [], [], [
    "p docs /a/docs",
    "q docs /a/docs",
    "q wiki /a/wiki",
  ]]);
});

Deno.test("sources for one table have no files in common", async () => {
  const nested = [[
    "pipelines[0].sources[1].path",
    "this folder and that of pipelines[0].sources[0] have the same files",
  ]];
  for (const [one, other] of [["docs", "docs/api"], ["docs/api", "docs"], ["docs", "x/../docs/"]]) {
    assert.deepEqual(
      await faults(pipeline("p", `{ name: a, path: /${one} }, { name: b, path: /${other} }`)),
      nested,
    );
  }
  assert.deepEqual(await faults(pipeline("p", "{ path: /docs }, { path: /docs-2 }")), []);
  assert.deepEqual(await faults(pipeline("p", "{ path: /docs }"), pipeline("q", "{ path: /docs/api }")), [[
    "pipelines[1].sources[0].path",
    "this folder and that of pipelines[0].sources[0] have the same files, for the same table",
  ]]);
  assert.deepEqual(
    await faults(pipeline("p", "{ path: /docs }"), pipeline("q", "{ path: /docs/api }", "e")),
    [],
  );
});

Deno.test("a source needs a path and a name", async () => {
  assert.deepEqual(await faults(pipeline("p", "{ path: / }")), [
    ["pipelines[0].sources[0].name", "is required where the path ends with no name"],
  ]);
  const expected = "expected a name that is not blank and does not begin with /";
  assert.deepEqual(await faults(pipeline("p", "{ name: /docs, path: /a }, { name: ' ', path: /b }")), [
    ["pipelines[0].sources[0].name", `${expected}; got "/docs"`],
    ["pipelines[0].sources[1].name", `${expected}; got " "`],
  ]);
  assert.deepEqual(await faults(pipeline("p", "{ name: docs }")), [
    ["pipelines[0].sources[0]", "expected one of path, git, s3 and http; got a mapping"],
  ]);
});

Deno.test("sources elsewhere are told from each other by where they are", async () => {
  const { config } = await load(
    pipeline(
      "p",
      "{ git: { url: 'https://git.example.com/docs.git' } }, " +
        "{ name: guides, git: { url: git@git.example.com:docs.git, branch: main, path: guides } }, " +
        "{ s3: { bucket: docs, prefix: manuals } }, { name: site, http: { pages: ['https://example.com/a'] } }",
    ),
  );
  assert.deepEqual(config.pipelines[0]?.sources?.map(({ name, path }) => [name, path]), [
    ["docs.git", "git:https://git.example.com/docs.git"],
    ["guides", "git:git@git.example.com:docs.git@main/guides"],
    ["manuals", "s3://docs/manuals"],
    ["site", "https://example.com/a"],
  ]);
  const url = "https://git.example.com/docs.git";
  assert.deepEqual(
    await faults(
      pipeline("p", `{ name: all, git: { url: '${url}' } }, { git: { url: '${url}', path: guides } }`),
    ),
    [["pipelines[0].sources[1].path", "this folder and that of pipelines[0].sources[0] have the same files"]],
  );
});

Deno.test("a source is one thing, and a repository's address neither an option nor one with a password", async () => {
  for (
    const [source, both] of [["{ name: a }", ""], [
      "{ path: /a, s3: { bucket: b } }",
      ", not path and s3",
    ]] as const
  ) {
    assert.deepEqual(await faults(pipeline("p", source)), [
      ["pipelines[0].sources[0]", `expected one of path, git, s3 and http${both}; got a mapping`],
    ]);
  }
  assert.deepEqual(await faults(pipeline("p", "{ http: { delay: 1s } }")), [
    ["pipelines[0].sources[0].http", "expected a sitemap or pages; got a mapping"],
  ]);
  const urls = [
    "--upload-pack=x",
    "ext::sh -c x",
    "https://user:s3cret@git.example.com/x",
    "https://t@example.com/x",
    "x",
  ];
  for (const url of urls) {
    const [[path, message]] = await faults(pipeline("p", `{ git: { url: '${url}' } }`)) as string[][] & [
      string[],
    ];
    assert.equal(path, "pipelines[0].sources[0].git.url");
    assert.match(
      message ?? "",
      /^expected an address such as .*, without a password, or an absolute path/,
      url,
    );
    assert.doesNotMatch(message ?? "", /s3cret/);
  }
});
