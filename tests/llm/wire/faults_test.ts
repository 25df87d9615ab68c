import assert from "node:assert/strict";
import { createLogger } from "../../../src/core/logger.ts";
import { ProviderError } from "../../../src/llm/provider_error.ts";
import type { ProviderOptions } from "../../../src/llm/provider.ts";
import { key, optionsFor, type Subject, subjects } from "./provider_subjects.ts";
import { createVendor, type VendorFault } from "./vendors/vendor.ts";

const credentials = "the provider rejected the server's credentials";
const invalid = "the provider rejected the request as invalid";
const limited = "the provider's rate limit was exceeded; retry later";
const failed = "the provider returned an error";
const unreachable = "the provider could not be reached";
const late = "the request took too long";

const faults: readonly (readonly [VendorFault, string])[] = [
  [400, invalid],
  [401, credentials],
  [403, credentials],
  [404, invalid],
  [429, limited],
  [500, failed],
  [529, failed],
  ["reset before the headers", unreachable],
  ["reset before the body", unreachable],
  ["reset in the body", unreachable],
  ["stall before the headers", late],
  ["stall after the headers", late],
  ["stall in the body", late],
  ["malformed JSON", failed],
  ["malformed UTF-8", failed],
  ["unexpected shape", failed],
  ["error in the stream", failed],
  ["no end mark", failed],
  ["empty answer", failed],
  ["wrong dimensions", failed],
  ["too few vectors", failed],
  ["a number that is none", failed],
];

function applies(fault: VendorFault, { operation }: Subject): boolean {
  switch (fault) {
    case "error in the stream":
    case "no end mark":
      return operation === "stream";
    case "empty answer":
      return operation === "stream" || operation === "completion";
    case "wrong dimensions":
    case "too few vectors":
    case "a number that is none":
      return operation === "embedding";
    default:
      return true;
  }
}

/** All that an error may carry out of the process, and all that was logged. */
function collectTexts(): {
  logged: string[];
  options: Partial<ProviderOptions>;
  of(error: unknown): string[];
} {
  const logged: string[] = [];
  return {
    logged,
    options: {
      logger: createLogger({ level: "debug", format: "json", write: (line) => void logged.push(line) }),
    },
    of(error) {
      const texts = [...logged];
      for (let at = error; at instanceof Error; at = at.cause) {
        texts.push(
          at.message,
          at.stack ?? "",
          at instanceof ProviderError ? at.detail : "",
          Deno.inspect(at),
        );
      }
      return texts;
    },
  };
}

function assertNoPieceOfTheKey(texts: readonly string[]): void {
  for (let start = 0; start + 8 <= key.length; start++) {
    const piece = key.slice(start, start + 8);
    assert.ok(!texts.some((text) => text.includes(piece)), `${piece} is in ${texts.join("\n")}`);
  }
}

async function errorOf(running: Promise<unknown>): Promise<ProviderError> {
  const result = await running.then((value) => value, (error: unknown) => error);
  assert.ok(result instanceof ProviderError, `expected a ProviderError, got ${Deno.inspect(result)}`);
  return result;
}

const shortTimes = { requestTimeoutMs: 150, perAttemptTimeoutMs: 60, stallTimeoutMs: 60 };

for (const subject of subjects) {
  for (const [fault, message] of faults) {
    if (!applies(fault, subject)) continue;
    Deno.test(`${subject.name}: ${fault}`, async () => {
      await using vendor = createVendor(subject.vendor, { key });
      const isStall = String(fault).startsWith("stall");
      const texts = collectTexts();
      const options = optionsFor(subject.vendor, vendor.url, { ...texts.options, dimensions: 8 });
      vendor.fail(fault, { echo: `the key ${key} is not "${key.slice(0, 12)}…"` });

      const error = await errorOf(subject.run({ ...options, ...(isStall && shortTimes) }));
      assert.equal(error.message, message);
      assert.notEqual(error.detail, "");
      assertNoPieceOfTheKey(texts.of(error));

      vendor.mend();
      await subject.run(options);
    });
  }

  for (
    const [fault, retryAfter] of [[429, undefined], [429, "2"], [529, undefined], [500, undefined]] as const
  ) {
    const wait = retryAfter === undefined ? "" : ` with Retry-After: ${retryAfter}`;
    Deno.test(`${subject.name}: ${fault}${wait} twice, then an answer`, async () => {
      await using vendor = createVendor(subject.vendor, { key });
      const slept: number[] = [];
      const sleep = (ms: number) => {
        slept.push(ms);
        return Promise.resolve();
      };
      vendor.fail(fault, { times: 2, ...(retryAfter !== undefined && { retryAfter }) });
      await subject.run(optionsFor(subject.vendor, vendor.url, { sleep, random: () => 0.5 }));

      assert.equal(vendor.requests.length, 3);
      assert.equal(slept.length, 2);
      if (retryAfter !== undefined) assert.deepEqual(slept, [2000, 2000]);
    });
  }

  Deno.test(`${subject.name}: what a vendor names odd in a reply is shown by its place alone`, async () => {
    await using vendor = createVendor(subject.vendor, { key });
    vendor.fail("unexpected shape");
    const error = await errorOf(subject.run(optionsFor(subject.vendor, vendor.url)));

    assert.match(error.detail, /^the reply has an unexpected shape: /);
  });

  Deno.test(`${subject.name}: nobody listens`, async () => {
    const vendor = createVendor(subject.vendor);
    await vendor[Symbol.asyncDispose]();
    const error = await errorOf(subject.run(optionsFor(subject.vendor, vendor.url)));

    assert.equal(error.message, unreachable);
  });
}
