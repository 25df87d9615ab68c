import assert from "node:assert/strict";
import fc from "fast-check";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import { cutOutEcho, scrubSecrets } from "../../../src/llm/transport/scrub_secrets.ts";
import { errorOf, exchangeWith, never } from "../exchange_fixture.ts";
import { capturedLogger, chunk, chunkedEnd, chunkedHead, reply, startRawServer } from "../raw_server.ts";

const key = "Zk9-qwRTyu_iopLK42jhgfDSAmnbVC";

Deno.test("scrubSecrets() takes out a secret and each of its pieces of 8 characters", () => {
  assert.equal(scrubSecrets(`a ${key} b`, [key]), "a [redacted] b");
  assert.equal(scrubSecrets(`a ${key.slice(5, 13)} b ${key.slice(-9)}`, [key]), "a [redacted] b [redacted]");
  assert.equal(scrubSecrets(`a ${key.slice(5, 12)} b`, [key]), `a ${key.slice(5, 12)} b`);
  assert.equal(scrubSecrets(`${key}${key}`, [key]), "[redacted]");
});

Deno.test("scrubSecrets() knows a secret as a URL, JSON and Base64 write it", () => {
  const secret = 'pass "word"/+ünd\nmore';
  for (
    const written of [
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      btoa(String.fromCharCode(...new TextEncoder().encode(`user:${secret}`))).slice(8),
      btoa(String.fromCharCode(...new TextEncoder().encode(`x:${secret}`))).slice(4),
      btoa(String.fromCharCode(...new TextEncoder().encode(`us:${secret}`))).slice(4),
    ]
  ) {
    const scrubbed = scrubSecrets(`<${written}>`, [secret]);
    assert.match(scrubbed, /^<.{0,3}\[redacted\].{0,3}>$/s, written);
  }
});

Deno.test("scrubSecrets() takes out short secrets as a whole, and none that is a syllable", () => {
  assert.equal(
    scrubSecrets("the user is ollama, not x", ["ollama", "x", ""]),
    "the user is [redacted], not x",
  );
});

for (
  const [text, expected] of [
    [
      "Incorrect API key provided: sk-ab***wxyz. Look it up.",
      "Incorrect API key provided: [redacted] Look it up.",
    ],
    ["your key sk-ab…wxyz is bad", "your key [redacted] is bad"],
    ["invalid token: A8f3kQ92mz01 given", "invalid token: [redacted] given"],
    ["Provided authentication token is expired", "Provided authentication token is expired"],
    ["the api key parameter is missing", "the api key parameter is missing"],
    [
      "error for url (https://example.org/v1?key=1&x=2): refused",
      "error for url (https://example.org/v1?[redacted]): refused",
    ],
    ["Authorization: Bearer abcdefgh12345678", "Authorization: Bearer [redacted]"],
    [
      "model gpt-5-2025-08-07 not found, req_011CSHoEeqs5C35K2",
      "model gpt-5-2025-08-07 not found, req_011CSHoEeqs5C35K2",
    ],
  ] as const
) {
  Deno.test(`scrubSecrets() writes ${expected}`, () => assert.equal(scrubSecrets(text, []), expected));
}

Deno.test("scrubSecrets() takes no longer than in proportion to a text made to slow it down", () => {
  // each would take minutes if the time grew with the square of the length
  for (
    const part of [
      "a",
      "key ",
      "key:",
      "sk-",
      "sk-*",
      "http://",
      "http://a?",
      "a://b:",
      "bearer ",
      "[redacted]",
      "\\u0041",
      key,
    ]
  ) {
    const text = part.repeat(Math.ceil(400_000 / part.length));
    assert.ok(scrubSecrets(text, [key]).length > 0);
  }
});

const keys = fc.string({ unit: fc.constantFrom(..."abcXYZ0189-_.+/=%"), minLength: 20, maxLength: 60 });
const fillers = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.constantFrom("key: ", '"', "…", "***", "\n", "%2B", "https://x?key="),
);
const bodyPlans = fc.array(
  fc.oneof(fillers, fc.record({ from: fc.nat(60), length: fc.integer({ min: 1, max: 60 }) })),
  { maxLength: 12 },
);

function pieces(secret: string): string[] {
  return Array.from({ length: secret.length - 7 }, (_, at) => secret.slice(at, at + 8));
}

function everythingIn(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const own = Object.values(Object.getOwnPropertyDescriptors(error)).map(({ value }) => String(value)).join(
    "\n",
  );
  return [error.name, error.message, error.stack, own, everythingIn(error.cause)].join("\n");
}

Deno.test("no piece of the key leaves in an error or a log line, whatever a server sends", async () => {
  let answer: (secret: string) => string | Uint8Array = () => "";
  let secret = "";
  await using server = startRawServer(async (connection) => {
    await connection.write(answer(secret));
    connection.close();
  });
  const { logger, lines } = capturedLogger();
  const exchange = exchangeWith(server.url, {
    logger,
    apiKey: () => secret,
    authHeaders: (key) => ({ "x-api-key": key }),
    headers: { "x-api-key": "gateway-secret-0123456789" },
  });
  const request = (path: string) => ({ path, body: {}, signal: never });
  const status = fc.constantFrom(200, 301, 400, 401, 429, 500);

  await fc.assert(
    fc.asyncProperty(keys, bodyPlans, status, fc.boolean(), async (generated, plan, code, isStream) => {
      secret = generated;
      const body = plan.map((part) =>
        typeof part === "string" ? part : secret.slice(part.from % secret.length).slice(0, part.length)
      ).join("") + " gateway-secret-01234";
      const headers = `location: http://x/?key=${encodeURIComponent(secret)}\r\nx-request-id: ${secret}\r\n`;
      answer = () =>
        reply(code, isStream && code === 200 ? "" : body, headers);
      lines.length = 0;
      const path = `/ask?key=${encodeURIComponent(secret)}`;
      const failing = isStream
        ? Array.fromAsync(exchange.stream({ ...request(path), format: "events", read: (item) => item }))
        : exchange.send({
          ...request(path),
          read: (json) => {
            throw new ProviderError("provider", JSON.stringify(json) + body, { cause: new Error(secret) });
          },
        });
      const thrown = await failing.then(() => undefined, (error) => error);
      const text = everythingIn(thrown) + lines.join("");
      assert.ok(lines.length > 0);
      for (const piece of [...pieces(secret), ...pieces("gateway-secret-0123456789")]) {
        assert.ok(!text.includes(piece), `${piece} of ${secret} in ${text}`);
      }
    }),
    { numRuns: 300 },
  );
});

Deno.test("no piece of the key leaves where the connection fails", async () => {
  const { logger, lines } = capturedLogger();
  const authHeaders = (key: string) => ({ "x-api-key": key });
  const options = { logger, apiKey: () => key, authHeaders };
  await using server = startRawServer(async (connection, number) => {
    if (number === 2) {
      await connection.write(chunkedHead);
      await connection.write(chunk(`data: ${key}\n\n`));
    }
    if (number === 3) await connection.write(chunkedHead + key);
    if (number === 4) await connection.write(key + chunkedEnd);
    connection.close();
  });
  const addresses = [
    server.url,
    server.url,
    server.url,
    server.url,
    `http://${key}.invalid`,
    `http://user:${key}@nothing.invalid`,
  ];
  for (const address of addresses) {
    const stream = exchangeWith(address, options).stream({
      path: `/?key=${key}`,
      signal: never,
      format: "events",
      read: (item) => item,
    });
    const thrown = await Array.fromAsync(stream).then(() => undefined, (error) => error);
    assert.ok(thrown instanceof ProviderError);
    const text = (everythingIn(thrown) + lines.join("")).toLowerCase();
    for (const piece of pieces(key.toLowerCase())) assert.ok(!text.includes(piece), text);
  }
});

const prompt =
  'Which "orders" of Mrs Smith,\nborn in 1970, were sent to the clinic in June, and which were not?';
const quoted = { model: "some-model-of-2026-01-01", messages: [{ role: "user", content: prompt }] };

Deno.test("cutOutEcho() takes out a text that is repeated whole, as it is and as JSON writes it", () => {
  assert.equal(cutOutEcho(`bad input: ${prompt}!`, quoted), "bad input: […]!");
  assert.equal(cutOutEcho(`bad input: ${JSON.stringify(prompt)}`, quoted), 'bad input: "[…]"');
});

Deno.test("cutOutEcho() leaves at most 15 characters at either end of a part", () => {
  for (let from = 0; from < 40; from++) {
    const rest = cutOutEcho(`<${prompt.slice(from, from + 60)}>`, quoted);
    assert.match(rest, /^<.{0,15}\[…\].{0,15}>$/s);
  }
});

Deno.test("cutOutEcho() keeps names and the provider's own words", () => {
  const text = "The model some-model-of-2026-01-01 does not exist, or you may not use it";
  assert.equal(cutOutEcho(text, quoted), text);
  assert.equal(cutOutEcho(text, undefined), text);
});

Deno.test("a server that quotes the request it refuses puts no prompt in the log or the error", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer((connection) =>
    connection.write(reply(422, JSON.stringify({ detail: [{ msg: "Field required", input: quoted }] })))
  );
  const request = { path: "/", body: quoted, signal: never, read: (json: unknown) => json };
  const error = await errorOf(exchangeWith(server.url, { logger }).send(request));
  assert.match(error.detail, /^HTTP 422 for POST \/: .*Field required.*some-model-of-2026-01-01/);
  assert.doesNotMatch(error.detail + lines.join(""), /Smith|1970|clinic|which were not/);
});
