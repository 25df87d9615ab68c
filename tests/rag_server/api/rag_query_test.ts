import assert from "node:assert/strict";
import { AppError, type ErrorCode } from "../../../src/core/app_error.ts";
import { ProviderError, type ProviderErrorKind } from "../../../src/llm/provider_error.ts";
import type { PipelineEvent } from "../../../src/rag_server/pipeline.ts";
import { chunk, createHandbook, done, stream } from "./rag_handbook.ts";
import { createRagFixture } from "./rag_fixture.ts";
import { script, scriptedPipeline, scriptedPipelines } from "./scripted_pipelines.ts";

const sources = [{ key: "1-42", id: "42", content: "Rotate the logs.", score: 0.5 }, {
  key: "1~0",
  content: "Without an id.",
  score: 0.25,
}];
const wireSources =
  '[{"id":"42","content":"Rotate the logs.","score":0.5,"metadata":{"characters":{"start":0,"end":16}}},' +
  '{"content":"Without an id.","score":0.25,"metadata":{"characters":{"start":0,"end":14}}}]';
const citations = '[{"start":0,"end":20,"cited":true,"sources":[1],"verified":true},' +
  '{"start":21,"end":32,"cited":false,"sources":[],"unknown":[9],"verified":false}]';

Deno.test("a query is answered in one piece", async () => {
  const { ask } = createHandbook(script(chunk("Use "), chunk("logrotate."), done));
  const { status, text } = await ask({ query: "q" });
  assert.deepEqual([status, text], [200, '{"answer":"Use logrotate.","tokens_used":7}']);
});

Deno.test("a pipeline that ends while the body arrives is not asked", async () => {
  const handbook = scriptedPipeline({ name: "handbook", script: script(chunk("a"), done) });
  let looks = 0;
  const pipelines = {
    ...scriptedPipelines([handbook]),
    find: () => ++looks === 1 ? handbook : undefined,
  };
  const { ask, lines } = createRagFixture({ pipelines });
  assert.equal((await ask({ query: "q" })).status, 404);
  assert.deepEqual([handbook.asked, lines.map((line) => line.question)], [[], [undefined]]);
});

Deno.test("sources come where they are asked for and permitted", async () => {
  const { ask } = createHandbook(
    script(chunk("Rotate the "), chunk("logs [1]. Öl 𝄞 3 [9]."), { ...done, sources }),
  );
  const { text } = await ask({ query: "q", include_sources: true });
  assert.equal(
    text,
    `{"answer":"Rotate the logs [1]. Öl 𝄞 3 [9].","sources":${wireSources},"citations":${citations},"tokens_used":7}`,
  );
  const streamed = await ask({ ...stream, include_sources: true });
  assert.equal(
    streamed.text,
    'data: {"type":"chunk","content":"Rotate the "}\n\ndata: {"type":"chunk","content":"logs [1]. Öl 𝄞 3 [9]."}\n\n' +
      `data: {"type":"done","sources":${wireSources},"citations":${citations},"tokens_used":7}\n\n`,
  );
});

Deno.test("a source has what its table says of it, named columns too", async () => {
  const details = {
    title: "Logs",
    url: "https://example.com/logs",
    heading: "Logs > Rotation",
    page: 3,
    char_start: 0,
    char_end: 9,
    previous: "1",
    next: "3",
  };
  const [source] = sources;
  assert.ok(source);
  const known = { ...source, ...details, copies: 2, columns: { author: "Ada", title: "hidden" } };
  const { ask } = createHandbook(script(chunk("Yes."), { ...done, sources: [known] }));
  const { text } = await ask({ query: "q", include_sources: true });
  assert.equal(JSON.parse(text).sources[0].copies, 2);
  assert.deepEqual(JSON.parse(text).sources[0].metadata, {
    author: "Ada",
    ...details,
    characters: { start: 0, end: 16 },
  });
});

Deno.test("an answer without a model is marked, and claims nothing", async () => {
  const unanswered = { ...done, isUnanswered: true } as const;
  const { ask } = createHandbook(script(chunk("The documents do not answer this question."), unanswered));
  const answer = "The documents do not answer this question.";
  assert.equal(
    (await ask({ query: "q" })).text,
    `{"answer":"${answer}","answered":false,"tokens_used":7}`,
  );
  assert.equal(
    (await ask({ query: "q", include_sources: true })).text,
    `{"answer":"${answer}","answered":false,"sources":[],"citations":[],"tokens_used":7}`,
  );
  assert.match((await ask(stream)).text, /\n\ndata: \{"type":"done","answered":false\}\n\n$/);
});

Deno.test("sources that were not asked for are left out", async () => {
  const { ask, log } = createHandbook(script(chunk("Yes."), { ...done, sources }));
  for (const body of [{ query: "q" }, { query: "q", include_sources: null }]) {
    assert.equal((await ask(body)).text, '{"answer":"Yes.","tokens_used":7}');
  }
  assert.equal(
    (await ask(stream)).text,
    'data: {"type":"chunk","content":"Yes."}\n\ndata: {"type":"done"}\n\n',
  );
  assert.deepEqual(log, []);
});

Deno.test("sources that are not permitted are left out, which the log says", async () => {
  const { ask, log } = createHandbook(script(chunk("Yes."), { ...done, sources }), {
    allowsSources: false,
  });
  const { status, text } = await ask({ query: "q", include_sources: true });
  assert.deepEqual([status, text], [200, '{"answer":"Yes.","tokens_used":7}']);
  const streamed = await ask({ ...stream, include_sources: true });
  assert.equal(streamed.text, 'data: {"type":"chunk","content":"Yes."}\n\ndata: {"type":"done"}\n\n');
  assert.deepEqual(
    log,
    ["1", "1"].map((request) =>
      '{"time":"1970-01-01T00:00:00.000Z","level":"info",' +
      '"message":"Sources were asked for and left out: the pipeline does not permit them",' +
      `"request":"${request}","pipeline":"handbook"}`
    ),
  );
});

Deno.test("an answer without documents has an empty list of sources", async () => {
  const { ask } = createHandbook(script(chunk("No idea."), done));
  const { text } = await ask({ query: "q", include_sources: true });
  assert.equal(text, '{"answer":"No idea.","sources":[],"citations":[],"tokens_used":7}');
});

Deno.test("a stream has the document's headers and one line of data for each event", async () => {
  const { ask } = createHandbook(script(chunk("two\nlines\r\n\u2028"), chunk(""), chunk('"ü𝄞"'), done));
  const { status, headers, text } = await ask(stream);
  assert.equal(status, 200);
  assert.equal(headers.get("content-type"), "text/event-stream");
  assert.equal(headers.get("cache-control"), "no-cache");
  assert.equal(headers.get("connection"), "keep-alive");
  assert.equal(
    text,
    'data: {"type":"chunk","content":"two\\nlines\\r\\n\u2028"}\n\n' +
      'data: {"type":"chunk","content":""}\n\n' +
      'data: {"type":"chunk","content":"\\"ü𝄞\\""}\n\n' +
      'data: {"type":"done"}\n\n',
  );
});

const phrases: [ProviderErrorKind, string][] = [
  ["credentials", "the provider rejected the server's credentials"],
  ["rate_limit", "the provider's rate limit was exceeded; retry later"],
  ["invalid_request", "the provider rejected the request as invalid"],
  ["unsupported", "the operation is not supported by the configured provider"],
  ["provider", "the provider returned an error"],
  ["unreachable", "the provider could not be reached"],
  ["timeout", "the request took too long"],
  ["internal", "an internal error occurred"],
];

Deno.test("a provider's error is told as one of eight phrases, and as a whole in the log", async () => {
  for (const [fault, phrase] of phrases) {
    const fromProvider = new ProviderError(fault, "HTTP 400: the model spoke");
    const atOnce = createHandbook(script(fromProvider));
    const { status, text } = await atOnce.ask({ query: "q" });
    assert.equal(status, 500);
    assert.equal(text, `{"error":{"code":"EXECUTION_ERROR","message":"${phrase}"}}`);
    assert.deepEqual(atOnce.log.map((line) => JSON.parse(line)), [{
      time: "1970-01-01T00:00:00.000Z",
      level: "error",
      message: "A query failed",
      request: "1",
      pipeline: "handbook",
      error: phrase,
      detail: "HTTP 400: the model spoke",
    }]);

    for (const before of [[], [chunk("Par")]]) {
      const inParts = createHandbook(script(...before, fromProvider, done));
      const streamed = await inParts.ask(stream);
      assert.equal(streamed.status, 200);
      assert.equal(
        streamed.text,
        before.map(() => 'data: {"type":"chunk","content":"Par"}\n\n').join("") +
          `data: {"type":"error","error":"${phrase}"}\n\n`,
      );
      assert.equal(inParts.log.length, 1);
    }
  }
});

Deno.test("an error of the database or of the program is told as nothing but that", async () => {
  const internal = "an internal error occurred";
  const secret = "Cannot connect to db.internal:5432: password=hunter22";
  const ofCode = (code: ErrorCode) => new AppError(code, secret);
  const cases: [Error, string, string][] = [
    [new AppError("unavailable", secret, { data: { sqlState: "28P01" } }), "EXECUTION_ERROR", internal],
    [ofCode("upstream"), "EXECUTION_ERROR", internal],
    [ofCode("not_found"), "EXECUTION_ERROR", internal],
    [ofCode("conflict"), "EXECUTION_ERROR", internal],
    [ofCode("timeout"), "EXECUTION_ERROR", "the request took too long"],
    [ofCode("internal"), "INTERNAL_ERROR", internal],
    [new TypeError(secret), "INTERNAL_ERROR", internal],
    [new DOMException(secret, "AbortError"), "INTERNAL_ERROR", internal],
  ];
  for (const [error, code, message] of cases) {
    const { ask, log } = createHandbook(script(error));
    const { status, text } = await ask({ query: "q" });
    assert.deepEqual([status, text], [500, `{"error":{"code":"${code}","message":"${message}"}}`]);
    assert.equal((await ask(stream)).text, `data: {"type":"error","error":"${message}"}\n\n`);
    assert.equal(log.length, 2);
    assert.match(log[0] ?? "", /db\.internal:5432/);
    assert.equal("stack" in JSON.parse(log[0] ?? "{}"), code === "INTERNAL_ERROR");
    assert.doesNotMatch(log.join(), /hunter22/);
  }
});

Deno.test("a server without connections gets 503 and when to retry, in a stream too", async () => {
  const full = new AppError("unavailable", "Cannot reach database: role postern_reader has too few", {
    data: { sqlState: "53300", retryAfterSeconds: 3 },
  });
  for (const body of [{ query: "q" }, stream]) {
    const { ask, log } = createHandbook(script(full));
    const { status, text, headers } = await ask(body);
    assert.equal(status, 503);
    assert.equal(headers.get("retry-after"), "3");
    assert.equal(
      text,
      '{"error":{"code":"OVERLOADED","message":"the server has no room for the request now; retry later"}}',
    );
    assert.match(log.join(), /postern_reader has too few/);
  }
});

Deno.test("a filter that does not fit the tables gets 400, in a stream too, and no line in the log", async () => {
  const fault = new AppError("invalid", 'filter.conditions[0].column: there is no column "colour"');
  for (const body of [{ query: "q" }, stream]) {
    const { ask, log } = createHandbook(script(fault));
    const { status, text } = await ask(body);
    assert.equal(status, 400);
    assert.equal(
      text,
      '{"error":{"code":"INVALID_REQUEST","message":"filter.conditions[0].column: there is no column \\"colour\\""}}',
    );
    assert.deepEqual(log, []);
  }
});

Deno.test("a pipeline that throws before it returns anything fails like any other", async () => {
  const broken = createHandbook(() => {
    throw new TypeError("broken");
  });
  const internal = '{"error":{"code":"INTERNAL_ERROR","message":"an internal error occurred"}}';
  assert.equal((await broken.ask({ query: "q" })).text, internal);
  assert.equal(
    (await broken.ask(stream)).text,
    'data: {"type":"error","error":"an internal error occurred"}\n\n',
  );
});

Deno.test("a stream has one last event, whatever the pipeline does", async () => {
  const afterDone = createHandbook(script(chunk("a"), done, chunk("b"), done, new Error("late")));
  const ended = 'data: {"type":"chunk","content":"a"}\n\ndata: {"type":"done"}\n\n';
  assert.equal((await afterDone.ask(stream)).text, ended);
  assert.deepEqual(afterDone.log, []);

  const withoutDone = createHandbook(script(chunk("a")));
  assert.equal(
    (await withoutDone.ask(stream)).text,
    'data: {"type":"chunk","content":"a"}\n\ndata: {"type":"error","error":"an internal error occurred"}\n\n',
  );
  assert.equal(withoutDone.log.length, 1);
});

Deno.test("a stream lets go of the pipeline after its last event", async () => {
  let isReleased = false;
  const { ask } = createHandbook(async function* (): AsyncGenerator<PipelineEvent> {
    try {
      yield chunk("a");
      yield done;
    } finally {
      isReleased = true;
    }
  });
  await ask(stream);
  assert.ok(isReleased);
});
