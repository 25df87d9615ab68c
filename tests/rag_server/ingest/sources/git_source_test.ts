import assert from "node:assert/strict";
import { join } from "node:path";
import type { IngestOptions } from "../../../../src/rag_server/ingest/ingest.ts";
import { type GitSettings, openGitSource } from "../../../../src/rag_server/ingest/sources/git_source.ts";
import { createCertificateAuthority } from "../../../support/network/certificates.ts";
import { testWithPgvector } from "../../../support/database.ts";
import { testWithPrograms } from "../../../support/programs.ts";
import { temporaryFolder } from "../../../support/temporary_folder.ts";
import { countsOf, createIngestFixture } from "../ingest_fixture.ts";

/** A repository in a folder, with commits as they are asked for. */
async function createRepository(folder: string) {
  const git = async (...args: string[]) => {
    const own = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"];
    const { success, stderr } = await new Deno.Command("git", {
      args: ["-C", folder, ...own, ...args],
      env: { GIT_CONFIG_GLOBAL: "/dev/null", GIT_CONFIG_NOSYSTEM: "1" },
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
  };
  await git("init", "--quiet", "--initial-branch=main");
  return {
    git,
    async commit(files: Readonly<Record<string, string | undefined>>) {
      for (const [name, text] of Object.entries(files)) {
        await Deno.mkdir(join(folder, name, ".."), { recursive: true });
        if (text === undefined) await Deno.remove(join(folder, name));
        else await Deno.writeTextFile(join(folder, name), text);
      }
      await git("add", "--all");
      await git("commit", "--quiet", "--allow-empty", "--message=change");
    },
  };
}

function sourceOf(settings: GitSettings): Partial<IngestOptions> & { close(): Promise<void> } {
  const remote = openGitSource(settings);
  return {
    paths: [],
    configured: [{ name: "docs", path: `git:${settings.url}`, remote }],
    close: async () => await remote.close?.(),
  };
}

testWithPrograms(
  ["git"],
  "a repository's branch is ingested, and later what has changed in it",
  async () => {
    await using fixture = await createIngestFixture();
    const { git, commit } = await createRepository(fixture.folder);
    await commit({
      "guides/leave.md": "# Leave\n\nEmployees have thirty days of leave.",
      "guides/ü ber.md": "# About\n\nThe guide to everything.",
      "guides/.hidden.md": "hidden",
      "guides/logo.png": "PNG",
      "other.md": "# Other\n\nNot in the folder.",
    });
    await Deno.symlink("/etc/passwd", join(fixture.folder, "guides/link.md"));
    await commit({});
    const source = sourceOf({ url: fixture.folder, branch: "main", path: "guides" });
    const first = await fixture.ingest(source);
    assert.deepEqual(countsOf(first), { added: 2, changed: 0, unchanged: 0, removed: 0, chunksWritten: 2 });
    assert.deepEqual(first.skipped.map(({ path }) => path).sort(), [".hidden.md", "link.md", "logo.png"]);
    assert.deepEqual(await fixture.column("SELECT source FROM docs ORDER BY 1"), ["leave.md", "ü ber.md"]);

    // a run of its own, as that of another process
    await source.close();
    const later = sourceOf({ url: fixture.folder, branch: "main", path: "guides" });
    await git("mv", "guides/ü ber.md", "guides/about.md");
    await commit({ "guides/leave.md": "# Leave\n\nNow it is forty days." });
    assert.deepEqual(countsOf(await fixture.ingest(later)), {
      added: 0,
      changed: 2,
      unchanged: 0,
      removed: 0,
      // the one that moved keeps its row
      chunksWritten: 1,
    });
    assert.deepEqual(countsOf(await fixture.ingest(later)).unchanged, 2);
    await commit({ "guides/about.md": undefined });
    assert.equal((await fixture.ingest(later)).removed, 1);
    await later.close();
  },
  testWithPgvector,
);

testWithPrograms(
  ["git"],
  "a repository that cannot be listed, or has no files, removes no rows",
  async () => {
    await using fixture = await createIngestFixture();
    const { git, commit } = await createRepository(fixture.folder);
    await commit({ "docs/leave.md": "Thirty days of leave." });
    const url = fixture.folder;
    const ingestOf = async (settings: Partial<GitSettings>, changes: Partial<IngestOptions> = {}) => {
      const source = sourceOf({ url, ...settings });
      const summary = await fixture.ingest({ ...source, ...changes });
      await source.close();
      return summary;
    };
    await ingestOf({ path: "docs" });
    for (
      const [settings, reason] of [
        [{ branch: "gone" }, /git says: .*gone/],
        [{ path: "gone" }, /: the repository has no folder gone$/],
        [
          { url: join(url, "gone") },
          /git says: fatal: .*gone' does not appear to be a git repository fatal: Could not/,
        ],
        // a program that somebody's address would start
        [{ url: "ext::sh -c touch% /tmp/never" }, /git says: .*'ext' not allowed/],
      ] as const
    ) {
      const { removed, refusals } = await ingestOf(settings);
      assert.equal(removed, 0);
      assert.match(refusals.join(), /^Cannot ingest source "docs" \(git:/);
      assert.match(refusals.join(), reason);
    }
    await commit({ "docs/leave.md": undefined, "other.md": "Another file." });
    // git keeps no empty folder; one that holds a submodule alone has no files
    await git("update-index", "--add", "--cacheinfo", `160000,${"a".repeat(40)},empty/module`);
    await git("commit", "--quiet", "--message=module");
    assert.match((await ingestOf({ path: "empty" })).refusals.join(), /it has no files; .* -confirm-removal/);
    assert.equal((await ingestOf({ path: "empty" }, { isRemovalConfirmed: true })).removed, 1);
  },
  testWithPgvector,
);

testWithPrograms(["git", "openssl"], "a token goes to https alone, and is told nowhere", async () => {
  await using folder = await temporaryFolder();
  const authority = await createCertificateAuthority(folder.path, "authority");
  const files = await authority.issue({ commonName: "localhost", subjectAltNames: ["DNS:localhost"] });
  const [cert, key] = await Promise.all(
    [files.certFile, files.keyFile].map((path) => Deno.readTextFile(path)),
  );
  const seen: (string | null)[] = [];
  const answer = (request: Request) => {
    seen.push(request.headers.get("authorization"));
    return new Response("no", { status: 403 });
  };
  const options = { hostname: "localhost", port: 0, onListen: () => {} };
  await using secure = Deno.serve({ ...options, cert: cert ?? "", key: key ?? "" }, answer);
  await using plain = Deno.serve(options, answer);
  const tokenFile = join(folder.path, "token");
  await Deno.writeTextFile(tokenFile, "s3cret-t0ken\n");
  Deno.env.set("GIT_SSL_CAINFO", authority.certFile);
  try {
    for (
      const [url, expected] of [
        [`https://localhost:${secure.addr.port}/docs.git`, `Basic ${btoa("robot:s3cret-t0ken")}`],
        [`http://localhost:${plain.addr.port}/docs.git`, null],
      ] as const
    ) {
      seen.length = 0;
      const source = openGitSource({ url, username: "robot", token_file: tokenFile });
      const error = await source.list(new AbortController().signal).then(() => undefined, (thrown) => thrown);
      assert.ok(error instanceof Error);
      assert.match(error.message, /^git says: .*403/);
      assert.ok(!error.message.includes("s3cret"));
      assert.deepEqual(new Set(seen), new Set([expected]));
      await source.close?.();
    }
  } finally {
    Deno.env.delete("GIT_SSL_CAINFO");
  }
});

Deno.test("where there is no git, a sentence says so", async () => {
  const path = Deno.env.get("PATH") ?? "";
  const source = openGitSource({ url: "/nowhere" });
  Deno.env.set("PATH", "/nonexistent");
  try {
    await assert.rejects(
      source.list(new AbortController().signal),
      /there is no program git in PATH; install git/,
    );
  } finally {
    Deno.env.set("PATH", path);
    await source.close?.();
  }
});
