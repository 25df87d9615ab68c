import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import { localEmbedding } from "../../../src/llm/local/local_embedding.ts";
import { noUsage } from "../../../src/llm/provider.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { testWithPgvector, testWithPgvectorServer } from "../../support/database.ts";
import { countedEmbedding, countsOf, createIngestFixture, table } from "./ingest_fixture.ts";

/** Files of one chunk each. */
const files = (count: number) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`${String(at).padStart(4, "0")}.txt`, `File number ${at}.`]),
  );

const vectorIndexes = "SELECT indexname FROM pg_indexes WHERE tablename = 'docs' AND indexdef LIKE '%hnsw%'";
const comment = "SELECT obj_description('docs'::regclass)";

testWithPgvector(
  "ingest() ends with a provider's fault after what was done, and goes on in the next run",
  async () => {
    await using fixture = await createIngestFixture();
    await using vendor = createVendor("openai", { key: "secret-key" });
    await fixture.write(files(50));
    let requests = 0;
    const provider = createEmbeddingProvider({
      kind: "openai",
      model: "text-embedding-3-small",
      baseUrl: vendor.url,
      apiKey: () => "secret-key",
      requestTimeoutMs: 10_000,
      perAttemptTimeoutMs: 10_000,
      logger: silentLogger,
      sleep: () => Promise.resolve(),
    });
    const failing = {
      ...provider,
      embed(request: Parameters<typeof provider.embed>[0]) {
        if (++requests > 1) vendor.fail(401);
        return provider.embed(request);
      },
    };
    const summary = await fixture.ingest({ embedding: failing, batchChunks: 30 });
    assert.equal(summary.fault?.message, "the provider rejected the server's credentials");
    assert.deepEqual(countsOf(summary), {
      added: 30,
      changed: 0,
      unchanged: 0,
      removed: 0,
      chunksWritten: 30,
    });
    assert.equal(await fixture.value("SELECT count(*) FROM docs"), "30");
    assert.deepEqual(await fixture.column(vectorIndexes), ["docs_embedding_idx"]);

    vendor.mend();
    vendor.fail(503, { times: 2 });
    const next = await fixture.ingest({ embedding: provider });
    assert.deepEqual(countsOf(next), {
      added: 20,
      changed: 0,
      unchanged: 30,
      removed: 0,
      chunksWritten: 20,
    });
    assert.equal(next.fault, undefined);
  },
);

testWithPgvector("ingest() goes on where an aborted run was", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files(50));
  const controller = new AbortController();
  let calls = 0;
  const inner = localEmbedding();
  const embedding = {
    ...inner,
    embed(request: Parameters<typeof inner.embed>[0]) {
      if (++calls > 1) controller.abort(new Error("stop"));
      return inner.embed(request);
    },
  };
  await assert.rejects(fixture.ingest({ embedding, signal: controller.signal, batchChunks: 30 }), {
    message: "stop",
  });
  assert.equal(await fixture.value("SELECT count(*) FROM docs"), "30");
  assert.deepEqual(await fixture.column(vectorIndexes), []);
  assert.match(String(await fixture.value(comment)), /makes the vector index at its end/);
  assert.equal((await fixture.ingest()).added, 20);
  assert.deepEqual(await fixture.column(vectorIndexes), ["docs_embedding_idx"]);
  assert.equal(await fixture.value(comment), null);
});

testWithPgvector("ingest() leaves the index to the table's owner, and to who took it away", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files(1));
  await fixture.ingest();
  const role = `${fixture.database.name}_writer`;
  await fixture.database.query(`DROP INDEX docs_embedding_idx; CREATE ROLE ${role} LOGIN;
    GRANT ALL ON ALL TABLES IN SCHEMA public, postern TO ${role};
    GRANT ALL ON SCHEMA postern TO ${role}`);
  try {
    await fixture.write(files(2));
    assert.equal((await fixture.ingest()).added, 1);
    await fixture.database.query(
      "COMMENT ON TABLE docs IS 'Postern: -ingest makes the vector index at its end'",
    );
    await fixture.write(files(3));
    assert.equal((await fixture.ingest({}, role)).added, 1);
    assert.deepEqual(await fixture.column(vectorIndexes), []);
    await fixture.ingest();
    assert.deepEqual(await fixture.column(vectorIndexes), ["docs_embedding_idx"]);
  } finally {
    await fixture.database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

testWithPgvector("ingest() refuses vectors of another length before it writes a row", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files(3));
  await fixture.database.query(`CREATE EXTENSION vector;
    CREATE TABLE docs (id serial PRIMARY KEY, content text, embedding vector(1536));
    CREATE TABLE free (id serial PRIMARY KEY, content text, embedding vector);
    INSERT INTO free (content, embedding) VALUES ('mine', '[1,2,3]')`);
  await assert.rejects(fixture.ingest(), {
    code: "invalid",
    message: 'Cannot ingest into "docs": column "embedding" holds vectors of 1536 dimensions, ' +
      "but those of local/hashed-256 have 256",
  });
  await assert.rejects(fixture.ingest({ table: { ...table, table: "free" } }), {
    message: 'Cannot ingest into "free": column "embedding" holds vectors of 3 dimensions, ' +
      "but those of local/hashed-256 have 256",
  });
  assert.deepEqual(await fixture.column("SELECT content FROM docs UNION ALL SELECT content FROM free"), [
    "mine",
  ]);
});

testWithPgvector("ingest() says why it cannot use a table or a path", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files(1));
  await fixture.database.query(`CREATE EXTENSION vector;
    CREATE VIEW a_view AS SELECT 1 AS id, 'x' AS content, '[1]'::vector AS embedding;
    CREATE TABLE no_id (content text, embedding vector(256));
    CREATE TABLE no_default (id int PRIMARY KEY, content text, embedding vector(256));
    CREATE TABLE odd (id serial PRIMARY KEY, content text, embedding vector(256), tenant int NOT NULL);
    CREATE TABLE numbers (id serial PRIMARY KEY, content int, embedding vector(256));
    CREATE TABLE texts (id serial PRIMARY KEY, content text, embedding text)`);
  const reasons: readonly (readonly [name: string, reason: string])[] = [
    ["a_view", "it is not a table"],
    ["no_id", "it has no primary key of one column; name the id_column"],
    ["no_default", 'column "id" has no default; make it an identity column'],
    ["odd", 'column "tenant" needs a value; give it a default'],
    ["numbers", 'column "content" has type integer; expected text'],
    ["texts", 'column "embedding" has type text; expected vector or halfvec'],
  ];
  for (const [name, reason] of reasons) {
    await assert.rejects(fixture.ingest({ table: { ...table, table: name } }), {
      code: "invalid",
      message: `Cannot ingest into "${name}": ${reason}`,
    });
  }
  await assert.rejects(fixture.ingest({ paths: ["/no/such/folder"] }), {
    code: "invalid",
    message: "Cannot ingest /no/such/folder: there is no such file or folder",
  });
});

testWithPgvectorServer(
  "ingest() lets one run at a time write to a table, and waits for it a little",
  async () => {
    await using fixture = await createIngestFixture();
    await fixture.write(files(3));
    const entered = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const inner = localEmbedding();
    const first = fixture.ingest({
      embedding: {
        ...inner,
        async embed(request) {
          entered.resolve();
          await goOn.promise;
          return await inner.embed(request);
        },
      },
    });
    await entered.promise;
    const other = { table: { ...table, table: "public.docs" } };
    await assert.rejects(fixture.ingest({ ...other, lockPatienceMs: 0 }), {
      code: "conflict",
      message:
        'Cannot ingest into "public.docs": another process is ingesting into it; try again when that has ended',
    });
    const second = fixture.ingest(other);
    goOn.resolve();
    assert.equal((await first).added, 3);
    assert.equal((await second).unchanged, 3);
  },
);

testWithPgvector("ingest() reports a file that the table does not take, and writes the others", async () => {
  await using fixture = await createIngestFixture();
  await fixture.database.query(`CREATE EXTENSION vector;
    CREATE TABLE docs (id serial PRIMARY KEY, content text CHECK (content !~ 'number 1'), embedding vector(256))`);
  await fixture.write(files(3));
  const summary = await fixture.ingest();
  assert.equal(summary.added, 2);
  assert.deepEqual(summary.failed.map(({ path }) => path), ["0001.txt"]);
  assert.match(
    summary.failed[0]?.reason ?? "",
    /^Cannot ingest into "docs": new row .* violates check constraint/,
  );
});

testWithPgvectorServer("ingest() shows readers a file's old chunks or its new ones", async () => {
  await using fixture = await createIngestFixture();
  const version = (number: number) =>
    Array.from(
      { length: 300 },
      (_, at) => `## Part ${at}\n\nVersion ${number} of part ${at}, ${"and so on ".repeat(30)}`,
    ).join("\n\n");
  await fixture.write({ "a.md": version(1) });
  await fixture.ingest();
  await fixture.write({ "a.md": version(2) });
  let isDone = false;
  const seen = new Set<unknown>();
  const reading = (async () => {
    while (!isDone) {
      const [row] = await fixture.database.query(
        "SELECT count(*), count(DISTINCT substring(content from 'Version (.)')) FROM docs",
      );
      seen.add(row?.join(" "));
    }
  })();
  await fixture.ingest({ embedding: countedEmbedding() });
  isDone = true;
  await reading;
  assert.deepEqual([...seen], ["300 1"]);
});

for (const [dimensions, key] of [[2001, "halfvec"], [4001, undefined]] as const) {
  testWithPgvector(
    `ingest() makes ${
      key === undefined ? "no index" : "an index over half precision"
    } for ${dimensions} dimensions`,
    async () => {
      await using fixture = await createIngestFixture();
      await fixture.write(files(1));
      const vectors = [new Float32Array(dimensions).fill(0.01)];
      const embed = () => Promise.resolve({ vectors, usage: noUsage });
      assert.equal((await fixture.ingest({ embedding: { ...localEmbedding(), embed } })).added, 1);
      const definitions = await fixture.column(
        "SELECT indexdef FROM pg_indexes WHERE tablename = 'docs' AND indexdef LIKE '%USING hnsw%'",
      );
      const expected = `USING hnsw (((embedding)::halfvec(${dimensions})) halfvec_cosine_ops)`;
      assert.deepEqual(
        definitions.map((text) => String(text).includes(expected)),
        key === undefined ? [] : [true],
      );
    },
  );
}

testWithPgvector("ingest() says what to do where the role may not add pgvector", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write(files(1));
  const role = `${fixture.database.name}_writer`;
  await fixture.database.query(
    `CREATE ROLE ${role} LOGIN; GRANT CREATE ON DATABASE ${fixture.database.name} TO ${role};
    GRANT CREATE ON SCHEMA public TO ${role}`,
  );
  try {
    await assert.rejects(fixture.ingest({}, role), {
      code: "unavailable",
      message: 'Cannot ingest into "docs": this role may not create the extension vector; ' +
        "ask an administrator to run CREATE EXTENSION vector",
    });
    await fixture.database.query("CREATE EXTENSION vector");
    assert.equal((await fixture.ingest({}, role)).added, 1);
  } finally {
    await fixture.database.query(`DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

testWithPgvector("what the table refuses for another reason than a file's values ends the run", async () => {
  await using fixture = await createIngestFixture();
  await fixture.write({ "a.txt": "One.", "b.txt": "Two." });
  await fixture.ingest();
  await fixture.database.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE 'closed' USING ERRCODE = '55000'; END $$;
    CREATE TRIGGER refuse BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION refuse()`);
  await fixture.write({ "c.txt": "Three.", "d.txt": "Four." });
  await assert.rejects(fixture.ingest(), { code: "upstream", message: /: closed$/ });
});
