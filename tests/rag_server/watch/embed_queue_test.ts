import assert from "node:assert/strict";
import { silentLogger } from "../../../src/core/logger.ts";
import { createEmbeddingProvider } from "../../../src/llm/create_provider.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { connect } from "../../../src/postgres/connect/connect.ts";
import { pg } from "../../../src/postgres/connection.ts";
import { testWithPgvectorServer } from "../../support/database.ts";
import { databaseOptions } from "../../support/database_options.ts";
import { createLimitedRole } from "../../support/limited_role.ts";
import { startPgBouncer } from "../../support/network/pgbouncer.ts";
import { testWithPrograms } from "../../support/programs.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { optionsFor } from "../../llm/wire/provider_subjects.ts";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { WireRefusal } from "../../llm/wire/vendors/vendor_wire.ts";
import { createWatchFixture, docs, numbered } from "./watch_fixture.ts";

/** So many rows, each with a text of another length. */
const insert = (rows: number) =>
  `INSERT INTO docs (body) SELECT repeat('x', n) FROM generate_series(1, ${rows}) n`;

const refusal = (detail: string) => new ProviderError("invalid_request", detail);

testWithPgvectorServer("two workers share a queue, and embed nothing twice", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(450));
  const met = Promise.withResolvers<void>();
  let requests = 0;
  // neither goes on before both work
  const together = numbered(async () => {
    if (++requests === 2) met.resolve();
    await met.promise;
  });
  await Promise.all([fixture.work(together), fixture.work(together)]);
  assert.equal(new Set(together.texts).size, 450);
  assert.equal(together.texts.length, 450);
  assert.deepEqual([await fixture.stale(), await fixture.waiting()], [[], []]);
});

testWithPgvectorServer("a worker claims no rows while another does", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(3));
  const { name } = await fixture.look();
  const login = databaseOptions(fixture.admin.url);
  const holder = await connect(login, { signal: new AbortController().signal, logger: silentLogger });
  await holder.client.query(`SELECT pg_advisory_lock(hashtextextended('postern embed ${name}', 0))`);
  const embedding = numbered();
  const working = fixture.work(embedding);
  const waits = `SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
    WHERE l.locktype = 'advisory' AND NOT l.granted AND d.datname = current_database()`;
  await waitUntil("the worker waits", async () => (await fixture.query(waits)).length === 1);
  assert.deepEqual(embedding.texts, []);
  await holder.close();
  await working;
  assert.equal(embedding.texts.length, 3);
});

testWithPgvectorServer(
  "a row that changes while it is embedded gets the vector of its new text",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(3));
    const seen: unknown[][] = [];
    const embedding = numbered(async (texts) => {
      if (!texts.includes("xx")) return;
      await fixture.query("UPDATE docs SET body = 'another' WHERE id = 2; DELETE FROM docs WHERE id = 3");
      // the claim holds although the row has changed
      void waitUntil(
        "the old text's vector is not written",
        async () => (await fixture.waiting()).length <= 2,
      )
        .then(async () => seen.push(...await fixture.query("SELECT embedding FROM docs WHERE id = 2")));
    });
    await fixture.work(embedding);
    assert.deepEqual(await fixture.query("SELECT id, embedding FROM docs ORDER BY id"), [["1", "[1,1]"], [
      "2",
      "[7,1]",
    ]]);
    assert.deepEqual(seen, [[null]]);
    assert.deepEqual(await fixture.waiting(), []);
  },
);

testWithPgvectorServer("rows that another worker is claiming are not waited for", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(150));
  const other = new pg.Client({ connectionString: fixture.admin.url });
  await other.connect();
  try {
    await other.query("BEGIN; SELECT FROM postern.embedding_queue ORDER BY not_before LIMIT 100 FOR UPDATE");
    const working = fixture.work();
    await waitUntil("the others are done", async () => (await fixture.waiting()).length === 100);
    await other.query("ROLLBACK");
    await working;
    assert.deepEqual(await fixture.stale(), []);
  } finally {
    await other.end();
  }
});

testWithPrograms(["pgbouncer"], "a worker works through a pooler", async () => {
  await using fixture = await createWatchFixture();
  await using pooler = await startPgBouncer(fixture.admin.url);
  await fixture.setUp();
  await fixture.query(insert(250));
  const through = { hosts: [pooler.host], pooler: "transaction" as const };
  await Promise.all([fixture.work(numbered(), { through }), fixture.work(numbered(), { through })]);
  assert.deepEqual([await fixture.stale(), await fixture.waiting()], [[], []]);
}, testWithPgvectorServer);

testWithPgvectorServer(
  "a row that another transaction is changing is not waited for, nor given the old vector",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(2));
    const writer = new pg.Client({ connectionString: fixture.admin.url });
    await writer.connect();
    try {
      const embedding = numbered(async (texts) => {
        if (texts.length < 2) return;
        await writer.query("BEGIN");
        await writer.query("UPDATE docs SET note = 'seen' WHERE id = 1");
      });
      const working = fixture.work(embedding);
      await waitUntil("the other row is done", async () => (await fixture.waiting()).join() === "1");
      await writer.query("UPDATE docs SET body = 'later' WHERE id = 1");
      await writer.query("COMMIT");
      await working;
      assert.deepEqual(await fixture.stale(), []);
    } finally {
      await writer.end();
    }
  },
);

testWithPgvectorServer(
  "an id that is deleted and given again meanwhile gets the vector of its new row",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(1));
    let isFirst = true;
    await fixture.work(numbered(async () => {
      if (isFirst) await fixture.query("DELETE FROM docs; INSERT INTO docs (id, body) VALUES (1, 'second')");
      isFirst = false;
    }));
    assert.deepEqual(await fixture.stale(), []);
  },
);

testWithPgvectorServer(
  "a text that the provider refuses is set aside with the reason; the others go on",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(20));
    await fixture.query("UPDATE docs SET body = 'poison', embedding = '[9,9]' WHERE id IN (4, 11)");
    const embedding = numbered((texts) => {
      if (texts.includes("poison")) throw refusal("too long");
    });
    await fixture.work(embedding);
    assert.deepEqual(
      await fixture.query("SELECT key, reason FROM postern.embedding_queue ORDER BY key"),
      ["11", "4"].map((key) => [key, "the provider rejected the request as invalid: too long"]),
    );
    // without the vector of the text before
    assert.deepEqual(await fixture.stale(), ["4", "11"]);
    assert.deepEqual(await fixture.query("SELECT count(*) FROM docs WHERE embedding IS NULL"), [["2"]]);
    await fixture.query("UPDATE docs SET body = 'fine' WHERE id = 4");
    await fixture.work(embedding);
    assert.deepEqual(await fixture.stale(), ["11"]);
  },
);

testWithPgvectorServer("where the provider refuses every text, no row is set aside", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(3));
  let isWrong = true;
  const embedding = numbered(() => {
    if (isWrong) throw refusal("there is no such model");
  });
  const working = fixture.work(embedding);
  await waitUntil("it was tried", () => Promise.resolve(embedding.texts.includes("text")));
  assert.deepEqual(await fixture.waiting(), ["1", "2", "3"]);
  isWrong = false;
  await working;
  assert.deepEqual(await fixture.stale(), []);
});

testWithPgvectorServer(
  "a text that the provider fails at for good is set aside once it failed alone",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(2));
    await fixture.query("DELETE FROM docs WHERE id = 1; UPDATE postern.embedding_queue SET attempts = 5");
    await fixture.work(numbered((texts) => {
      if (texts.includes("xx")) throw new ProviderError("provider", "500");
    }));
    assert.deepEqual(await fixture.query("SELECT key, reason FROM postern.embedding_queue"), [
      ["2", "the provider returned an error: 500"],
    ]);
    assert.deepEqual(await fixture.stale(), ["2"]);
  },
);

testWithPgvectorServer("texts that the provider fails at hold up no others, whatever the fault", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(250));
  const poison: Readonly<Record<string, number>> = { "7": 500, "8": 500, "120": 500, "50": 400, "249": 3 };
  for (const [id, fault] of Object.entries(poison)) {
    await fixture.query(`UPDATE docs SET body = 'poison ${fault}' WHERE id = ${id}`);
  }
  await using vendor = createVendor("openai", {
    embed(text) {
      const fault = /poison (.+)/.exec(text)?.[1];
      if (fault === undefined) return [text.length, 1];
      if (fault === "3") return [1, 2, 3];
      throw new WireRefusal(Number(fault), "poison");
    },
  });
  const embedding = createEmbeddingProvider({
    ...optionsFor("openai", vendor.url),
    // no circuit that opened closes again
    now: () => 0,
  });
  const twice = {
    texts: ["poison 500", "poison 500"],
    purpose: "query",
    signal: new AbortController().signal,
  } as const;
  for (let count = 0; count < 5; count++) await assert.rejects(embedding.embed(twice), /returned an error/);
  const alone = () => {
    const texts = vendor.requests.map(({ body }) => JSON.stringify(Reflect.get(Object(body), "input")));
    return texts.filter((input) => input === '["poison 500"]').length;
  };
  const working = fixture.work({ ...embedding, name: "test/numbered" });
  const ids = Object.keys(poison);
  await waitUntil("the others are done", async () => (await fixture.stale()).join() === ids.join());
  assert.deepEqual(await fixture.waiting(), ["120", "7", "8"]);
  await waitUntil("they are set aside", async () => {
    // as it is some seconds later
    await fixture.query("UPDATE postern.embedding_queue SET not_before = now() WHERE attempts > 0");
    return (await fixture.waiting()).length === 0;
  });
  await working;
  // each five times, in four attempts each
  assert.equal(alone(), 3 * 5 * 4);
  const reasons = await fixture.query("SELECT key::int, reason FROM postern.embedding_queue ORDER BY 1");
  assert.deepEqual(reasons.map(([key]) => key), ids);
  const serverError = /^the provider returned an error: HTTP 500 .*poison/;
  const length = /takes 2 dimensions, but a vector of test\/numbered has 3$/;
  const expected = [serverError, serverError, /^the provider rejected .* 400/, serverError, length];
  for (const [at, [, reason]] of reasons.entries()) assert.match(String(reason), expected[at] ?? /^$/);
});

for (const kind of ["unreachable", "rate_limit", "credentials"] as const) {
  testWithPgvectorServer(
    `where the provider fails as ${kind}, all rows wait and none is tried alone`,
    async () => {
      await using fixture = await createWatchFixture();
      await fixture.setUp();
      await fixture.query(insert(4));
      await fixture.query("UPDATE postern.embedding_queue SET attempts = 4 WHERE key = '4'");
      let errors = 2;
      const embedding = numbered(() => {
        if (errors-- > 0) throw new ProviderError(kind, "it did");
      });
      await fixture.work(embedding);
      assert.deepEqual([await fixture.stale(), await fixture.waiting()], [[], []]);
      assert.equal(embedding.texts.includes("text"), false);
    },
  );
}

testWithPgvectorServer("where the provider fails at every text, no row counts as failed", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(4));
  await fixture.query("UPDATE postern.embedding_queue SET attempts = 4 WHERE key = '4'");
  let errors = 4;
  await fixture.work(numbered(() => {
    if (errors-- > 0) throw new ProviderError("provider", "500");
  }));
  assert.deepEqual(await fixture.stale(), []);
  assert.deepEqual(await fixture.query("SELECT key FROM postern.embedding_queue"), []);
});

testWithPgvectorServer(
  "a provider that is too slow for many texts is asked with what it took from then on",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query(insert(200));
    let errors = 0;
    await fixture.work(numbered((texts) => {
      if (texts.length <= 13) return;
      errors++;
      throw new ProviderError("timeout", "no reply");
    }));
    assert.deepEqual(await fixture.stale(), []);
    // of the first claim 7; of the others, which have 26 rows each, 1
    assert.equal(errors, 7 + 4);
  },
);

testWithPgvectorServer("a vector that the table refuses is set aside with PostgreSQL's reason", async () => {
  await using fixture = await createWatchFixture(
    `${docs}; ALTER TABLE docs ADD CONSTRAINT short CHECK (embedding IS NULL OR length(body) < 5)`,
  );
  await fixture.setUp();
  await fixture.query(insert(6));
  await fixture.work();
  const rows = await fixture.query(
    "SELECT key, reason ~ 'check constraint' FROM postern.embedding_queue ORDER BY key",
  );
  assert.deepEqual(rows, [["5", "t"], ["6", "t"]]);
  assert.deepEqual(await fixture.stale(), ["5", "6"]);
});

testWithPgvectorServer(
  "a text with nothing in it loses its vector, and the provider is not asked",
  async () => {
    await using fixture = await createWatchFixture();
    await fixture.setUp();
    await fixture.query("INSERT INTO docs (body, embedding) VALUES ('a', '[1,1]'), ('b', '[1,1]')");
    await fixture.query("UPDATE docs SET body = CASE id WHEN 1 THEN '  ' END");
    const embedding = numbered();
    await fixture.work(embedding);
    assert.deepEqual(embedding.texts, []);
    assert.deepEqual(await fixture.query("SELECT embedding FROM docs"), [[null], [null]]);
    assert.deepEqual(await fixture.waiting(), []);
  },
);

testWithPgvectorServer("vectors of another length end the worker and set nothing aside", async () => {
  await using fixture = await createWatchFixture(docs.replace("vector(2)", "vector(3)"));
  await fixture.setUp();
  await fixture.query(insert(2));
  await assert.rejects(fixture.work(), {
    code: "invalid",
    message:
      'Cannot embed table "docs": its column "embedding" takes 3 dimensions, but a vector of test/numbered ' +
      "has 2",
  });
  assert.deepEqual(await fixture.waiting(), ["1", "2"]);
});

testWithPgvectorServer("a role that row-level security holds embeds nothing, and loses no row", async () => {
  await using fixture = await createWatchFixture(
    `${docs}; ALTER TABLE docs ENABLE ROW LEVEL SECURITY;
    CREATE POLICY few ON docs USING (id = 1)`,
  );
  await using worker = await createLimitedRole(fixture.admin, 5);
  await fixture.setUp({}, { reader: "postgres", worker: worker.name });
  await fixture.query(insert(3));
  await assert.rejects(fixture.work(numbered(), { user: worker.name }), /row-level security policy/);
  assert.deepEqual(await fixture.waiting(), ["1", "2", "3"]);
  await fixture.query(`DROP POLICY few ON docs; ALTER TABLE docs DISABLE ROW LEVEL SECURITY;
    UPDATE postern.embedding_queue SET not_before = now()`);
  await fixture.work(numbered(), { user: worker.name });
  assert.deepEqual(await fixture.stale(), []);
});

testWithPgvectorServer("a worker that is stopped ends after its batch", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(150));
  const stop = new AbortController();
  await fixture.work(numbered(() => stop.abort()), { stopping: stop.signal });
  assert.equal((await fixture.waiting()).length, 50);
  assert.equal((await fixture.stale()).length, 50);
});

testWithPgvectorServer("a worker goes on where its connection was lost", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  await fixture.query(insert(2));
  let isFirst = true;
  await fixture.work(numbered(async () => {
    if (!isFirst) return;
    isFirst = false;
    await fixture.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
      UPDATE postern.embedding_queue SET not_before = now()`,
    );
  }));
  assert.deepEqual(await fixture.stale(), []);
});

testWithPgvectorServer("the first row that comes is told of, so that a worker need not ask", async () => {
  await using fixture = await createWatchFixture();
  await fixture.setUp();
  const listener = new pg.Client({ connectionString: fixture.admin.url });
  const told: (string | undefined)[] = [];
  listener.on("notification", ({ channel }) => told.push(channel));
  await listener.connect();
  try {
    await listener.query("LISTEN postern_embedding");
    await fixture.query(insert(3));
    await fixture.query(insert(2));
    await waitUntil("it is told", async () => {
      await listener.query("SELECT");
      return told.length > 0;
    });
    assert.deepEqual(told, ["postern_embedding"]);
  } finally {
    await listener.end();
  }
});
