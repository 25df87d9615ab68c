import assert from "node:assert/strict";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { createVendor } from "../../llm/wire/vendors/vendor.ts";
import { assertHas } from "../../support/assert_has.ts";
import { type CollectedSpan, createCollector, treeOf } from "../../support/collector.ts";
import { createConfigFolder, databaseEntry, startConfiguredServer } from "../../support/configured_server.ts";
import { createTestDatabase, testWithPostgres } from "../../support/database.ts";
import { createCertificateAuthority } from "../../support/network/certificates.ts";
import { commandLine, runProgram } from "../../support/server_process.ts";
import { waitUntil } from "../../support/wait_until.ts";
import { testWithPrograms } from "../../support/programs.ts";

const host = { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7" };
const traceparent = `00-${host.traceId}-${host.spanId}-01`;
const unsampled = `00-${"1".repeat(32)}-${host.spanId}-00`;
const streaming = { accept: "application/json, text/event-stream" };

const isRequest = ({ name }: CollectedSpan) => name === "POST /mcp/v1";
const isOf = (requestId: string) => ({ attributes }: CollectedSpan) =>
  attributes["postern.request.id"] === requestId;

function named(spans: readonly CollectedSpan[], name: string): CollectedSpan {
  const found = spans.find((span) => span.name === name);
  assert.ok(found, `${name} among ${spans.map((span) => span.name).join(", ")}`);
  return found;
}

const traces = (url: string, more = "") => `traces: { endpoint: "${url}", sample_ratio: 0, ${more} }\n`;

testWithPostgres("a call is one trace from the host's traceparent to PostgreSQL", async (t) => {
  await using database = await createTestDatabase();
  await using collector = createCollector();
  const entry = databaseEntry("main", database.name);
  await using running = await startConfiguredServer(
    `databases: [${entry}]\nlog: { access: true }\n${traces(collector.url)}`,
  );
  const { client, server, token } = running;
  const call = async (query: string, id: string, headers: Record<string, string> = {}, meta?: object) => {
    const params = { name: "query_database", arguments: { query }, ...(meta && { _meta: meta }) };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    await (await client.post(body, { headers: { "x-request-id": id, ...headers } })).text();
  };

  await t.step("by the header", async () => {
    await call("SELECT 'not for collectors' FROM generate_series(1, 3)", "one", { traceparent });
    const spans = await collector.traceWith(isRequest);
    assert.deepEqual(treeOf(spans), [[
      "POST /mcp/v1",
      "identity",
      ["tools/call query_database", "guard", "queue", `SELECT ${database.name}`],
      "reply",
    ]]);
    const request = named(spans, "POST /mcp/v1");
    assert.equal(request.traceId, host.traceId);
    assert.equal(request.parentSpanId, host.spanId);
    assertHas(request, {
      kind: 2,
      status: 0,
      attributes: {
        "http.request.method": "POST",
        "http.route": "/mcp/v1",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "postern.request.id": "one",
      },
    });
    assertHas(named(spans, "tools/call query_database"), {
      kind: 2,
      attributes: {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "query_database",
        "network.transport": "tcp",
      },
    });
    assertHas(named(spans, `SELECT ${database.name}`), {
      kind: 3,
      attributes: {
        "db.system.name": "postgresql",
        "db.namespace": database.name,
        "db.operation.name": "SELECT",
        "db.response.returned_rows": 3,
        "postern.database": "main",
        "postern.statement.origin": "caller",
        "server.address": "127.0.0.1",
      },
    });
    assertHas(collector.resources[0], { "service.name": "postern" });
    // a part is within the whole, and comes before what follows it
    const [whole, queue, statement] = [
      request,
      named(spans, "queue"),
      named(spans, `SELECT ${database.name}`),
    ];
    for (const { startNs, endNs } of spans) {
      assert.ok(startNs >= whole.startNs && endNs <= whole.endNs && startNs <= endNs);
    }
    assert.ok(queue.endNs <= statement.startNs);
    assert.ok(Math.abs(Number(whole.endNs / 1_000_000n) - Date.now()) < 60_000, "the wall clock");
    assert.doesNotMatch(collector.text(), /not for collectors|generate_series/);
    assert.ok(!collector.text().includes(token));
  });

  await t.step("by params._meta, to which the request is linked", async () => {
    for (const [id, headers] of [["two", {}], ["three", streaming]] as const) {
      const traceId = id.padStart(32, "a").replaceAll(/[^a-f]/g, "b");
      await call("SELECT 2", id, { traceparent, ...headers }, {
        traceparent: `00-${traceId}-${host.spanId}-01`,
      });
      const spans = await collector.traceWith((span) => span.traceId === traceId && span.kind === 2);
      const root = named(spans, "tools/call query_database");
      assert.equal(root.parentSpanId, host.spanId);
      assert.ok(spans.some(({ name }) => name === `SELECT ${database.name}`));
      const request = named(await collector.traceWith(isOf(id)), "POST /mcp/v1");
      assert.equal(root.links[0]?.traceId, request.traceId);
    }
  });

  await t.step("with the statement's SQLSTATE, and the trace in the log", async () => {
    await call("SELECT 1/0", "four", { traceparent });
    await collector.traceWith(isOf("four"));
    const failed = collector.spans.filter(({ attributes }) => attributes["error.type"] === "22012");
    assertHas(failed, [{ status: 2, attributes: { "db.response.status_code": "22012" } }]);
    assert.ok(
      collector.spans.some(({ attributes, status }) =>
        attributes["error.type"] === "tool_error" && status === 2
      ),
    );
    assert.match(server.stderr(), new RegExp(`A statement failed request=four trace_id=${host.traceId} `));
    const answered = () =>
      server.stderr().split("\n").filter((line) => /Request answered .*request=four/.test(line));
    await waitUntil("the access log says so too", () => answered().length === 1);
    assert.match(answered()[0] ?? "", new RegExp(`trace_id=${host.traceId}`));
    await call("DELETE FROM pg_class", "five", { traceparent });
    await collector.traceWith(isOf("five"));
    assert.equal(
      collector.spans.findLast(({ name }) => name === "guard")?.attributes["postern.guard.result"],
      "refused",
    );
  });

  await t.step("without a name that is no tool's, and with a request that is refused", async () => {
    const reply = await client.request("tools/call", { name: "a-name-of-mine", arguments: {} }, {
      headers: { traceparent, "x-request-id": "six" },
    });
    assert.ok(reply.error);
    const spans = (await collector.traceWith(isOf("six"))).filter(({ name }) => name === "tools/call");
    assertHas(spans, [{ status: 2, attributes: { "error.type": "invalid" } }]);
    const refused = await fetch(`${server.url}/a/path/of/mine`, {
      headers: { traceparent, "x-request-id": "seven" },
    });
    await refused.body?.cancel();
    const [other] = (await collector.traceWith(isOf("seven"))).filter(isOf("seven"));
    assertHas(other, { name: "GET", attributes: { "http.response.status_code": 404 } });
    assert.doesNotMatch(collector.text(), /of-mine|of\/mine/);
  });

  await t.step("and in PostgreSQL's own list of what runs, where it is traced", async () => {
    const own = "SELECT query FROM pg_stat_activity WHERE pid = pg_backend_pid() -- mine";
    const run = async (headers: Record<string, string>) =>
      (await client.call("query_database", { query: own }, { headers })).data["rows"];
    const [[seen = ""] = []] = await run({ traceparent, "x-request-id": "eight" }) as string[][];
    const { spanId } = (await collector.traceWith(isOf("eight")))
      .findLast(({ attributes }) => attributes["db.operation.name"] === "SELECT") ?? {};
    assert.equal(seen, `${own}\n/*traceparent='00-${host.traceId}-${spanId}-01'*/`);
    assert.deepEqual(await run({}), [[own]]);
    assert.deepEqual(await run({ traceparent: unsampled }), [[own]]);
  });

  await t.step("and nothing is traced that its caller does not trace, where chance traces none", async () => {
    const before = collector.spans.length;
    await call("SELECT 5", "nine", { traceparent: unsampled });
    await call("SELECT 5", "ten", { traceparent: "00-not-one-01" });
    await call("SELECT 5", "eleven");
    await call("SELECT 5", "twelve", { traceparent }, { traceparent: unsampled });
    const spans = await collector.traceWith(isOf("twelve"));
    assert.deepEqual(
      spans.filter((span) => collector.spans.indexOf(span) >= before).map(({ name }) => name),
      [
        "identity",
        "reply",
        "POST /mcp/v1",
      ],
    );
    assert.equal(collector.spans.length, before + 3);
  });
});

testWithPostgres("a server that does not follow callers leaves traces to chance", async () => {
  await using database = await createTestDatabase();
  await using collector = createCollector();
  const config = (more: string) =>
    `databases: [${databaseEntry("main", database.name)}]\n` +
    `traces: { endpoint: "${collector.url}", follow_callers: false, ${more} }`;
  const call = async (more: string) => {
    await using running = await startConfiguredServer(config(more));
    const params = { name: "query_database", arguments: { query: "SELECT 1" }, _meta: { traceparent } };
    await running.client.request("tools/call", params, { headers: { traceparent } });
    assert.equal(await running.server.stop(), 0);
  };
  await call("sample_ratio: 0");
  assert.equal(collector.spans.length, 0);
  await call("sample_ratio: 1");
  assert.deepEqual(treeOf(collector.spans), [[
    "POST /mcp/v1",
    "identity",
    ["tools/call query_database", "guard", "queue", `SELECT ${database.name}`],
    "reply",
  ]]);
  assert.ok(collector.spans.every(({ traceId }) => traceId !== host.traceId));
});

testWithPostgres(
  "a collector that the file names gets nothing of another's from the environment",
  async () => {
    await using database = await createTestDatabase();
    await using collector = createCollector();
    await using running = await startConfiguredServer(
      `databases: [${databaseEntry("main", database.name)}]\n${traces(collector.url)}`,
      [],
      {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:1",
        OTEL_EXPORTER_OTLP_HEADERS: "x-key=secret-of-another",
        OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-other-key=secret-of-another",
      },
    );
    await running.client.call("query_database", { query: "SELECT 1" }, { headers: { traceparent } });
    assert.equal(await running.server.stop(), 0);
    const [request] = collector.requests;
    assert.ok(request);
    assert.deepEqual([...request.headers.values()].filter((value) => value.includes("another")), []);
    assert.match(running.server.stderr(), new RegExp(`traces are sent to ${collector.url}/v1/traces`));
  },
);

testWithPostgres("traces hold texts only where the configuration says so", async () => {
  await using database = await createTestDatabase();
  await database.query("CREATE TABLE customers (id int PRIMARY KEY, name text)");
  await using collector = createCollector();
  const statement = "SELECT name FROM customers";
  await using vendor = createVendor("anthropic", { answer: () => `\`\`\`sql\n${statement}\n\`\`\`` });
  const config = (more: string) =>
    `databases: [${databaseEntry("main", database.name)}]\n` +
    `llm: { provider: anthropic, model: m, anthropic_base_url: "${vendor.url}", anthropic_api_key: k }\n` +
    traces(collector.url, more);
  const ask = async (more: string) => {
    await using running = await startConfiguredServer(config(more));
    const headers = { traceparent };
    await running.client.call("query_database", {
      query: "Which customers are there, pst_0123456789abcdefghij?",
    }, { headers });
    assert.equal(await running.server.stop(), 0);
  };

  await ask("");
  const chat = named(collector.spans, "chat m");
  assertHas(chat, {
    kind: 3,
    attributes: {
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "anthropic",
      "gen_ai.request.model": "m",
      "server.address": "127.0.0.1",
    },
  });
  assert.ok(Number(chat.attributes["gen_ai.usage.input_tokens"]) > 0);
  assert.ok(Number(chat.attributes["gen_ai.usage.output_tokens"]) > 0);
  assert.doesNotMatch(collector.text(), /customers/);
  assert.ok(vendor.requests.every(({ headers }) => !headers.has("traceparent")), "a third party");

  const { origin } = new URL(vendor.url);
  await ask(`include_texts: true, propagate_to: ["${origin}"]`);
  const [, told] = collector.spans.filter(({ name }) => name === "chat m");
  assert.ok(told);
  assert.match(String(told.attributes["gen_ai.input.messages"]), /Which customers are there/);
  assert.match(String(told.attributes["gen_ai.output.messages"]), /SELECT name FROM customers/);
  assert.ok(collector.spans.some(({ attributes }) => attributes["db.query.text"] === statement));
  assert.ok(!collector.text().includes("pst_"), "what looks like a secret is none of the texts");
  assert.equal(
    vendor.requests.at(-1)?.headers.get("traceparent"),
    `00-${host.traceId}-${told.spanId}-01`,
    "a gateway of one's own",
  );
});

testWithPostgres("over stdio a call is traced too, by params._meta or by chance", async () => {
  await using database = await createTestDatabase();
  await using collector = createCollector();
  await using folder = await createConfigFolder(
    `databases: [${
      databaseEntry("main", database.name)
    }]\ntraces: { endpoint: "${collector.url}", sample_ratio: 1 }`,
  );
  const client = new Client({ name: "test", version: "1" });
  await client.connect(
    new StdioClientTransport({ ...commandLine(["-config", folder.configFile]), stderr: "ignore" }),
  );
  const call = { name: "query_database", arguments: { query: "SELECT 1" } };
  await client.callTool({ ...call, _meta: { traceparent } });
  await client.callTool(call);
  await client.close();
  const isCall = ({ name }: CollectedSpan) => name === "tools/call query_database";
  await waitUntil("both came", () => collector.spans.filter(isCall).length === 2);
  const [one, other] = collector.spans.filter(isCall);
  assertHas(one, { ...host, spanId: one?.spanId, parentSpanId: host.spanId });
  assert.equal(one?.attributes["network.transport"], "pipe");
  assert.notEqual(other?.traceId, host.traceId);
});

testWithPostgres(
  "a collector that is away, hangs or refuses costs no call, and one line of the log",
  async (t) => {
    await using database = await createTestDatabase();
    const entry = databaseEntry("main", database.name);
    const lines = (text: string, what: RegExp) => text.split("\n").filter((line) => what.test(line));

    await t.step("one that is away", async () => {
      const { url } = await (async () => {
        await using gone = createCollector();
        return gone;
      })();
      await using running = await startConfiguredServer(`databases: [${entry}]\n${traces(url)}`);
      await running.client.call("query_database", { query: "SELECT 1" }, { headers: { traceparent } });
      assert.equal(await running.server.stop(), 0);
      assert.equal(lines(running.server.stderr(), /[Tt]races are lost/).length, 1, running.server.stderr());
    });

    await t.step("one that refuses, and takes them again", async () => {
      await using collector = createCollector();
      collector.answer(400);
      const secret = "a-secret-of-the-collector";
      await using running = await startConfiguredServer(
        `databases: [${entry}]\n${traces(collector.url, `headers: { x-key: ${secret} }`)}`,
      );
      const { client, server } = running;
      const call = () => client.call("query_database", { query: "SELECT 1" }, { headers: { traceparent } });
      for (let batch = 1; batch <= 2; batch++) {
        await call();
        await waitUntil("it was asked", () => collector.requests.length >= batch);
      }
      await waitUntil("the log says so", () => /Traces are lost/.test(server.stderr()));
      collector.answer(200);
      await call();
      await waitUntil(
        "the log says that they come again",
        () => /reach the collector again/.test(server.stderr()),
      );
      assert.equal(collector.requests[0]?.headers.get("x-key"), secret);
      assert.equal(collector.requests[0]?.path, "/v1/traces");
      // some collectors refuse what comes in chunks
      for (const { headers } of collector.requests) {
        assert.ok(Number(headers.get("content-length")) > 0);
        assert.equal(headers.get("transfer-encoding"), null);
      }
      assert.equal(lines(server.stderr(), /Traces are lost.* status=400/).length, 1, server.stderr());
      assert.equal(await server.stop(), 0);
      assert.ok(!server.stderr().includes(secret));
    });

    await t.step("one that hangs", async () => {
      await using collector = createCollector();
      collector.answer(0);
      await using running = await startConfiguredServer(`databases: [${entry}]\n${traces(collector.url)}`);
      const { client, server } = running;
      // far more spans than may wait
      const headers = { traceparent };
      const batch = Array.from({ length: 50 }, (_, id) => ({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "query_database", arguments: { query: "SELECT 1" } },
      }));
      for (let round = 0; round < 24; round++) {
        const replies = await (await client.post(JSON.stringify(batch), { headers })).json();
        assert.ok(replies.every(({ result }: { result?: unknown }) => result !== undefined));
      }
      assert.equal(lines(server.stderr(), /Traces are lost: there are more/).length, 1, server.stderr());
      assert.equal(await server.stop(), 0);
      assert.match(server.stderr(), /The last traces are lost/);
    });
  },
);

testWithPrograms(["openssl"], "a collector's certificate is looked at", async () => {
  await using database = await createTestDatabase();
  await using folder = await createConfigFolder("");
  const authority = await createCertificateAuthority(folder.path, "collectors");
  const { certFile, keyFile } = await authority.issue({
    commonName: "c",
    subjectAltNames: ["DNS:localhost"],
  });
  const [cert, key] = await Promise.all([Deno.readTextFile(certFile), Deno.readTextFile(keyFile)]);
  await using collector = createCollector({ cert, key });
  const config = (more: string) =>
    `databases: [${databaseEntry("main", database.name)}]\n${traces(collector.url, more)}`;
  const stop = async (more: string) => {
    await using running = await startConfiguredServer(config(more));
    await running.client.call("query_database", { query: "SELECT 1" }, { headers: { traceparent } });
    assert.equal(await running.server.stop(), 0);
    return running.server.stderr();
  };
  assert.match(await stop(""), /Traces are lost/);
  assert.equal(collector.spans.length, 0);
  assert.doesNotMatch(await stop(`ca_file: ${authority.certFile}`), /Traces are lost/);
  assert.ok(collector.spans.some(isRequest));

  const wrong = join(folder.path, "wrong.pem");
  await Deno.writeTextFile(wrong, "no certificate");
  for (
    const [file, reason] of [[wrong, "expected a PEM file with a CERTIFICATE"], [
      `${wrong}.none`,
      "there is no such file",
    ]]
  ) {
    await folder.write(config(`ca_file: ${file}`));
    const { code, stdout } = await runProgram(["-check-config", folder.configFile]);
    assert.equal(code, 1);
    assert.match(stdout, new RegExp(`traces\\.ca_file ${file}: ${reason}`));
  }
}, testWithPostgres);
