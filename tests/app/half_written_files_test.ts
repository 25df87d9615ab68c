import assert from "node:assert/strict";
import { join } from "node:path";
import { watchConfig } from "../../src/app/config_reload.ts";
import { openProviderKey } from "../../src/app/providers/provider_key.ts";
import { readTls, watchTls } from "../../src/app/tls_files.ts";
import { watchDefinitions } from "../../src/app/tool_server/definitions_file.ts";
import { loadConfig } from "../../src/config/mod.ts";
import type { FileWatch, WatchOptions } from "../../src/core/files/watch_files.ts";
import { createLogger } from "../../src/core/logger.ts";
import { createStatementGuard } from "../../src/postgres/guard/statement_guard.ts";
import { createCertificateAuthority } from "../support/network/certificates.ts";

/** Files that are looked at when a test says so, and then are as they were read, or have changed meanwhile. */
function createPlayedWatch() {
  const watched: WatchOptions[] = [];
  const look = (isCurrent: boolean) => ({ asked: false, isCurrent: () => Promise.resolve(isCurrent) });
  const files: FileWatch = {
    async watch(options) {
      watched.push(options);
      await options.onChange(look(true));
      return { end: () => Promise.resolve(), [Symbol.asyncDispose]: () => Promise.resolve() };
    },
    lookAtAll() {},
    [Symbol.dispose]() {},
  };
  return {
    files,
    async look(isCurrent: boolean) {
      for (const { onChange } of watched) await onChange(look(isCurrent));
    },
  };
}

/** A file with a text that changes, and what is in force of it at first, after half of a write, and after the rest. */
async function inForce(
  name: string,
  [before, after]: readonly [string, string],
  open: (
    path: string,
    options: { readonly files: FileWatch; readonly logger: ReturnType<typeof createLogger> },
  ) => Promise<() => unknown>,
): Promise<unknown[]> {
  const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
  try {
    const path = join(folder, name);
    const { files, look } = createPlayedWatch();
    const logger = createLogger({ level: "error", format: "text", write: (line) => assert.fail(line) });
    await Deno.writeTextFile(path, before, { mode: 0o600 });
    const read = await open(path, { files, logger });
    const seen = [read()];
    await Deno.writeTextFile(path, after);
    for (const isCurrent of [false, true]) {
      await look(isCurrent);
      seen.push(read());
    }
    return seen;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a configuration that changes while it is read is put in force only when it is whole", async () => {
  const texts = ["log: { level: info }\n", "log: { level: debug }\n"] as const;
  const seen = await inForce("c.yaml", texts, async (path, { files, logger }) => {
    const load = () =>
      loadConfig({
        flags: { settings: new Map(), allowInsecure: false, configPath: path },
        env: {},
        cwd: "/",
      });
    const { config } = await load();
    let level = config.log.level;
    await watchConfig({
      config,
      source: { path, load },
      servers: [(next) => Promise.resolve(() => void (level = next.log.level))],
      files,
      onReload: () => {},
      logger,
    });
    return () => level;
  });
  assert.deepEqual(seen, ["info", "info", "debug"]);
});

Deno.test("a provider's key that changes while it is read is used only when it is whole", async () => {
  const seen = await inForce("key", ["first", "second"], async (file, options) => {
    const key = await openProviderKey(
      {
        kind: "openai",
        baseUrl: "http://localhost:1",
        own: {},
        ofKind: { file },
        kindAddresses: ["http://localhost:1"],
      },
      options,
    );
    return key.read;
  });
  assert.deepEqual(seen, ["first", "first", "second"]);
});

Deno.test("a certificate that changes while it is read is used only when it is whole", async () => {
  const folder = await Deno.makeTempDir({ prefix: "postern_test_" });
  try {
    const authority = await createCertificateAuthority(folder, "authority");
    const issued = await authority.issue({ commonName: "one" });
    const key_file = issued.keyFile;
    const cert = await Deno.readTextFile(issued.certFile);
    const more = `${cert}${await Deno.readTextFile(authority.certFile)}`;
    const seen = await inForce("server.crt", [cert, more], async (cert_file, { files, logger }) => {
      let used = await readTls({ cert_file, key_file }, "http.tls");
      await watchTls({
        tls: { cert_file, key_file },
        section: "http.tls",
        current: used,
        replace: (next) => Promise.resolve(void (used = next)),
        files,
        onReload: () => {},
        logger,
      });
      return () => used.cert.match(/BEGIN/g)?.length;
    });
    assert.deepEqual(seen, [1, 1, 2]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("definitions that change while they are read are offered only when they are whole", async () => {
  const prompt = (name: string) =>
    `prompts:\n  - name: ${name}\n    description: d\n    messages: [{ role: user, content: { type: text, text: t } }]\n`;
  const guard = await createStatementGuard();
  const seen = await inForce("d.yaml", [prompt("one"), prompt("two")], async (path, { files, logger }) => {
    const { config } = await loadConfig({ env: {}, cwd: "/nowhere" });
    let names: string[] = [];
    await watchDefinitions({
      path,
      config,
      files,
      guard: { check: (sql) => Promise.resolve(guard.check(sql)) },
      databases: () => [],
      offer: ({ prompts }) => void (names = prompts.map(({ name }) => name)),
      logger,
    });
    return () => names;
  });
  assert.deepEqual(seen, [["one"], ["one"], ["two"]]);
});
