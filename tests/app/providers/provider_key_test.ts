import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type ApiKeyOptions,
  type ApiKeySources,
  openProviderKey,
} from "../../../src/app/providers/provider_key.ts";
import type { ProviderKind } from "../../../src/llm/provider_kinds.ts";
import { createFileWatch } from "../../../src/core/files/watch_files.ts";
import { createLogger } from "../../../src/core/logger.ts";
import { waitUntil } from "../../support/wait_until.ts";

/** The key of a server with OpenAI's interface, which may have none. */
function openKey(sources: ApiKeySources, options: ApiKeyOptions) {
  const baseUrl = "http://localhost:1234/v1";
  const places = { own: {}, ofKind: sources, kindAddresses: [baseUrl] };
  return openProviderKey({ kind: "openai", baseUrl, ...places }, options);
}

async function withFolder(
  run: (folder: string, lines: string[], options: ApiKeyOptions) => Promise<void>,
) {
  const folder = await Deno.makeTempDir();
  const lines: string[] = [];
  const logger = createLogger({ level: "info", format: "text", write: (line) => lines.push(line) });
  const files = createFileWatch();
  try {
    await run(folder, lines, { files, logger });
  } finally {
    files[Symbol.dispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a key is taken from the configuration's text, its file, the environment, then the home folder", async () => {
  await withFolder(async (folder, _lines, options) => {
    const file = join(folder, "configured");
    const homeFile = join(folder, ".openai-api-key");
    await Deno.writeTextFile(file, "of-the-file\n", { mode: 0o600 });
    await Deno.writeTextFile(homeFile, "  of-the-home-folder\n", { mode: 0o600 });
    const sources = { text: "of-the-text", file, environment: "of-the-environment", homeFile };
    for (const expected of ["of-the-text", "of-the-file", "of-the-environment", "of-the-home-folder"]) {
      await using key = await openKey(sources, options);
      assert.equal(key.read(), expected);
      const next = (["text", "file", "environment", "homeFile"] as const).find((name) => sources[name]);
      if (next !== undefined) Object.assign(sources, { [next]: undefined });
    }
    await using none = await openKey({}, options);
    assert.equal(none.read(), undefined);
  });
});

Deno.test("a key's file that changes gives the new key, and one that goes away or is empty keeps the old one", async () => {
  await withFolder(async (folder, lines, options) => {
    const file = join(folder, "key");
    await Deno.writeTextFile(file, "first", { mode: 0o600 });
    await using key = await openKey({ file }, options);
    await Deno.writeTextFile(`${file}.new`, "second", { mode: 0o600 });
    await Deno.rename(`${file}.new`, file);
    await waitUntil("the new key is read", () => key.read() === "second");
    await Deno.writeTextFile(file, "");
    await Deno.remove(file);
    await waitUntil(
      "the missing file is noticed",
      () => lines.some((line) => line.includes("Cannot read the key file")),
    );
    assert.equal(key.read(), "second");
    assert.ok(!lines.join("").includes("second"));
  });
});

Deno.test("a configured file that is missing is logged, and read once it is there; one at home is not missed", async () => {
  await withFolder(async (folder, lines, options) => {
    await using atHome = await openKey({ homeFile: join(folder, "home") }, options);
    assert.deepEqual([atHome.read(), lines.length], [undefined, 0]);
    const file = join(folder, "key");
    await using key = await openKey({ file }, options);
    assert.equal(key.read(), undefined);
    assert.match(lines.join(""), /Cannot read the key file/);
    await Deno.writeTextFile(file, "there", { mode: 0o644 });
    await waitUntil("the key is read", () => key.read() === "there");
    await waitUntil("others' access is told", () => lines.some((line) => line.includes("chmod 600")));
  });
});

Deno.test({
  name:
    "a key that root shares with a group, as a mounted secret, draws no warning; a user's does (needs root)",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    await withFolder(async (folder, lines, options) => {
      const file = join(folder, "key");
      await Deno.writeTextFile(file, "shared");
      await Deno.chmod(file, 0o440);
      await using shared = await openKey({ file }, options);
      assert.deepEqual([shared.read(), lines], ["shared", []]);
      await Deno.chown(file, 12345, 23456);
      await using _users = await openKey({ file }, options);
      assert.match(lines.join(""), /can access .* \(mode 0440\); run: chmod 600 /);
    });
  },
});

Deno.test("a key's file that holds no key is logged and not used", async () => {
  await withFolder(async (folder, lines, options) => {
    for (
      const [text, reason] of [["", /it is empty/], ["two words", /printable ASCII/], [
        "a–b",
        /printable ASCII/,
      ]] as const
    ) {
      const file = join(folder, "key");
      await Deno.writeTextFile(file, text, { mode: 0o600 });
      await using key = await openKey({ file }, options);
      assert.equal(key.read(), undefined);
      assert.match(lines.at(-1) ?? "", reason);
    }
  });
});

Deno.test("the log names where a key was looked for, and is silent where none is needed", async () => {
  await withFolder(async (_folder, lines, options) => {
    const open = async (kind: ProviderKind, baseUrl: string | undefined, text?: string) => {
      const places = { own: { text }, ofKind: {}, kindAddresses: [] };
      await using _key = await openProviderKey({ kind, baseUrl, ...places }, options);
    };
    await open("anthropic", undefined, "key");
    await open("ollama", undefined);
    await open("openai", "http://localhost:1234/v1");
    assert.deepEqual(lines, []);
    await open("anthropic", undefined);
    assert.equal(lines.length, 1);
    assert.match(
      lines[0] ?? "",
      / No key for anthropic: looked in the configuration, in ANTHROPIC_API_KEY and in ~\/\.anthropic-api-key$/m,
    );
  });
});
