import assert from "node:assert/strict";
import { join } from "node:path";
import { openCompletion, openPipelineProviders } from "../../../src/app/providers/open_providers.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { loadConfig } from "../../../src/config/mod.ts";
import { optionsFor } from "../../config/load_options.ts";
import { capturedLogger } from "../../llm/raw_server.ts";
import { neverAborted } from "../../llm/wire/provider_subjects.ts";
import { createVendor, type Vendor } from "../../llm/wire/vendors/vendor.ts";
import { createUsageLedger } from "../../../src/llm/usage.ts";

const request = () => ({ messages: [{ role: "user", content: "?" }] as const, signal: neverAborted() });

interface Servers {
  readonly first: Vendor;
  readonly second: Vendor;
  /** Holds `first.key` and `second.key`. */
  readonly folder: string;
}

/** Asks the fallback of a configuration, and gives the key that it was sent and what was logged. */
async function askFallback(part: "llm" | "pipeline", text: (servers: Servers) => string) {
  const folder = await Deno.makeTempDir();
  for (const name of ["first", "second"]) {
    await Deno.writeTextFile(join(folder, `${name}.key`), `key-of-the-${name}`, { mode: 0o600 });
  }
  await using first = createVendor("openai");
  await using second = createVendor("openai");
  first.fail(401);
  const { logger, lines } = capturedLogger();
  const files = createFileWatch();
  try {
    const { config } = await loadConfig(optionsFor(text({ first, second, folder })));
    const [pipeline] = config.pipelines;
    const options = { vendors: config.vendors, files, logger, ledger: createUsageLedger() };
    await using opened = part === "pipeline" && pipeline
      ? await openPipelineProviders(pipeline, options)
      : await openCompletion({ config, files, logger });
    assert.equal((await opened?.completion.complete(request()))?.text, "It is 42.");
  } finally {
    files[Symbol.dispose]();
    await Deno.remove(folder, { recursive: true });
  }
  const keyOf = ({ requests }: Vendor) => requests.at(-1)?.headers.get("authorization") ?? undefined;
  return { first: keyOf(first), second: keyOf(second), lines };
}

const llm = ({ first, second, folder }: Servers, own: string) =>
  `llm: { provider: openai, model: m, openai_base_url: "${first.url}", openai_api_key_file: ${folder}/first.key,\n` +
  `  fallback: [{ provider: openai, model: m, base_url: "${second.url}", ${own} }] }\n`;

const pipeline = ({ first, second, folder }: Servers, own: string) => `
pipelines:
  - name: docs
    database: { database: docs }
    tables: [{ table: a, text_column: t, vector_column: v }]
    embedding_llm: { provider: local }
    rag_llm: { provider: openai, model: m, base_url: "${first.url}",
      fallback: [{ provider: openai, model: m, base_url: "${second.url}", ${own} }] }
    api_keys: { openai: ${folder}/first.key }
`;

for (const [part, text] of [["llm", llm], ["pipeline", pipeline]] as const) {
  Deno.test(`${part}: a fallback at another address is not sent the first one's key`, async () => {
    const { first, second, lines } = await askFallback(part, (servers) => text(servers, ""));
    assert.equal(first, "Bearer key-of-the-first");
    assert.equal(second, undefined);
    assert.ok(lines.some((line) => /No key is sent to the fallback openai at /.test(line)));
  });

  Deno.test(`${part}: a fallback's own key file counts`, async () => {
    const { first, second, lines } = await askFallback(
      part,
      (servers) => text(servers, `api_key_file: ${servers.folder}/second.key`),
    );
    assert.deepEqual([first, second], ["Bearer key-of-the-first", "Bearer key-of-the-second"]);
    assert.ok(!lines.some((line) => line.includes("No key is sent")));
  });

  Deno.test(`${part}: a fallback may name the key of its kind`, async () => {
    const { second } = await askFallback(
      part,
      (servers) => text(servers, `api_key_file: ${servers.folder}/first.key`),
    );
    assert.equal(second, "Bearer key-of-the-first");
  });

  Deno.test(`${part}: a fallback at its kind's own address gets the kind's key`, async () => {
    const { lines } = await askFallback(part, ({ first, second, folder }) => {
      // the first one's model fails once, the fallback is another model of the same server
      first.fail(401, { times: 1 });
      return text({ first, second: first, folder }, "").concat(`# ${second.url}\n`);
    });
    assert.ok(!lines.some((line) => line.includes("No key is sent")));
  });
}
