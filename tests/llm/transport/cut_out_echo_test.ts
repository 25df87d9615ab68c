import assert from "node:assert/strict";
import { cutOutEcho } from "../../../src/llm/transport/cut_out_echo.ts";
import { exchangeWith, faultOf, never } from "../exchange_fixture.ts";
import { capturedLogger, reply, startRawServer } from "../raw_server.ts";

const prompt =
  'Which "orders" of Mrs Smith,\nborn in 1970, were sent to the clinic in June, and which were not?';
const body = { model: "some-model-of-2026-01-01", messages: [{ role: "user", content: prompt }] };

Deno.test("cutOutEcho() takes out a text that is repeated whole, as it is and as JSON writes it", () => {
  assert.equal(cutOutEcho(`bad input: ${prompt}!`, body), "bad input: […]!");
  assert.equal(cutOutEcho(`bad input: ${JSON.stringify(prompt)}`, body), 'bad input: "[…]"');
});

Deno.test("cutOutEcho() leaves at most 15 characters at either end of a part", () => {
  for (let from = 0; from < 40; from++) {
    const rest = cutOutEcho(`<${prompt.slice(from, from + 60)}>`, body);
    assert.match(rest, /^<.{0,15}\[…\].{0,15}>$/s);
  }
});

Deno.test("cutOutEcho() keeps names and the provider's own words", () => {
  const text = "The model some-model-of-2026-01-01 does not exist, or you may not use it";
  assert.equal(cutOutEcho(text, body), text);
  assert.equal(cutOutEcho(text, undefined), text);
});

Deno.test("a server that quotes the request it refuses puts no prompt in the log or the error", async () => {
  const { logger, lines } = capturedLogger();
  await using server = startRawServer((connection) =>
    connection.write(reply(422, JSON.stringify({ detail: [{ msg: "Field required", input: body }] })))
  );
  const request = { path: "/", body, signal: never, read: (json: unknown) => json };
  const error = await faultOf(exchangeWith(server.url, { logger }).send(request));
  assert.match(error.detail, /^HTTP 422 for POST \/: .*Field required.*some-model-of-2026-01-01/);
  assert.doesNotMatch(error.detail + lines.join(""), /Smith|1970|clinic|which were not/);
});
