import assert from "node:assert/strict";
import { waitUntil } from "../../support/wait_until.ts";
import { key, optionsFor, type Subject, subjects } from "./provider_subjects.ts";
import { createVendor } from "./vendors/vendor.ts";

const exampleVectors = (text: string) => text === "one" ? [0.5, -0.25, 1] : [0.125, 2, -3];

const noCache = { cacheCreationInputTokens: 0, cacheReadInputTokens: 0 };

function expectedResult({ vendor, operation }: Subject): unknown {
  if (operation === "embedding") {
    const usage = { promptTokens: 6, completionTokens: 0, ...noCache };
    return { vectors: [[0.5, -0.25, 1], [0.125, 2, -3]], usage };
  }
  if (operation === "rerank") {
    const usage = { promptTokens: 15, completionTokens: 0, ...noCache };
    return { results: [{ index: 1, score: 2 }, { index: 2, score: 1 }], usage };
  }
  const usage = {
    promptTokens: 120,
    completionTokens: 7,
    cacheCreationInputTokens: vendor === "anthropic" ? 20 : 0,
    cacheReadInputTokens: vendor === "ollama" ? 0 : 40,
  };
  return { text: "naïve — 日本語 🦉 42.", isCut: false, usage };
}

const vendorOptions = { key, embed: exampleVectors, answer: ["naïve — ", "日本語 🦉", " 42."] };

for (const subject of subjects) {
  const { name, vendor: vendorName, operation } = subject;

  Deno.test(`${name}: the answer and its usage are the vendor's`, async () => {
    await using vendor = createVendor(vendorName, vendorOptions);
    const options = optionsFor(vendorName, vendor.url);

    assert.deepEqual(await subject.run(options), expectedResult(subject));
    assert.equal(vendor.requests.length, 1);
  });

  Deno.test(`${name}: a body cut anywhere, inside characters too, reads the same`, async () => {
    await using vendor = createVendor(vendorName, { ...vendorOptions, bytesPerWrite: 7 });

    assert.deepEqual(await subject.run(optionsFor(vendorName, vendor.url)), expectedResult(subject));
  });

  Deno.test(`${name}: ping answers where the key is right and refuses a wrong one`, async () => {
    await using vendor = createVendor(vendorName, { key });

    await subject.ping(optionsFor(vendorName, vendor.url));
    await assert.rejects(
      subject.ping(optionsFor(vendorName, vendor.url, { apiKey: () => "another-key-altogether" })),
      { message: "the provider rejected the server's credentials" },
    );
  });

  Deno.test(`${name}: a key that changes needs no new provider`, async () => {
    await using vendor = createVendor(vendorName, { key });
    let current = "the-key-of-yesterday";
    const options = optionsFor(vendorName, vendor.url, { apiKey: () => current });

    await assert.rejects(subject.run(options), { kind: "credentials" });
    current = ` ${key}\n`;
    await subject.run(options);
  });

  Deno.test(`${name}: configured headers go with every request`, async () => {
    await using vendor = createVendor(vendorName);
    await subject.run(optionsFor(vendorName, vendor.url, { headers: { "X-Team": "search" } }));

    assert.equal(vendor.requests[0]?.headers.get("x-team"), "search");
  });

  Deno.test(`${name}: aborting gives the signal's reason and closes the vendor's connection`, async () => {
    for (
      const fault of ["stall before the headers", "stall after the headers", "stall in the body"] as const
    ) {
      await using vendor = createVendor(vendorName);
      vendor.fail(fault);
      const controller = new AbortController();
      const reason = new Error("the client has gone");
      const running = subject.run(optionsFor(vendorName, vendor.url), controller.signal);
      running.catch(() => {});
      await waitUntil("the request arrived", () => vendor.requests.length === 1);
      controller.abort(reason);

      await assert.rejects(running, reason);
      await waitUntil("the connection is closed", () => vendor.openConnections() === 0);
    }
  });

  Deno.test(`${name}: an aborted signal sends nothing`, async () => {
    await using vendor = createVendor(vendorName);
    const reason = new Error("gone before it began");

    await assert.rejects(subject.run(optionsFor(vendorName, vendor.url), AbortSignal.abort(reason)), reason);
    assert.equal(vendor.requests.length, 0);
  });

  Deno.test(`${name}: requests one after the other leave no connections behind`, async () => {
    await using vendor = createVendor(vendorName);
    const options = optionsFor(vendorName, vendor.url);
    for (let count = 0; count < 20; count++) await subject.run(options);
    vendor.fail(500);
    for (let count = 0; count < 5; count++) await subject.run(options).catch(() => {});

    await waitUntil("at most two are open", () => vendor.openConnections() <= 2);
  });

  if (operation === "completion" || operation === "stream") {
    Deno.test(`${name}: an answer that reached the longest one allowed says so`, async () => {
      await using vendor = createVendor(vendorName, { isCut: true });
      const { text, isCut } = await subject.run(optionsFor(vendorName, vendor.url, { maxTokens: 5 }));

      assert.deepEqual({ text, isCut }, { text: "It is 42.", isCut: true });
    });
  }

  if (vendorName !== "ollama" && vendorName !== "rerank" && vendorName !== "openai") {
    Deno.test(`${name}: without a key nothing is sent, and the detail says which is missing`, async () => {
      await using vendor = createVendor(vendorName);
      for (const missing of [undefined, "", " \n"]) {
        await assert.rejects(subject.run(optionsFor(vendorName, vendor.url, { apiKey: () => missing })), {
          message: "the provider rejected the server's credentials",
          detail: `no API key for ${vendorName} is configured`,
        });
      }
      assert.equal(vendor.requests.length, 0);
    });
  } else {
    Deno.test(`${name}: works without a key`, async () => {
      await using vendor = createVendor(vendorName);
      await subject.run(optionsFor(vendorName, vendor.url, { apiKey: () => undefined }));

      assert.equal(vendor.requests[0]?.headers.has("authorization"), false);
    });
  }
}
