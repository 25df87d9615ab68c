import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type ArchivedFile, tarGz } from "../../tools/release/archives.ts";
import { releaseStem, type ReleaseTarget, releaseTargets } from "../../tools/release/targets.ts";
import { fillIn, sumsText } from "../../tools/release/templates.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const target = releaseTargets.find(({ triple }) => triple === Deno.build.target);
const ignore = target === undefined || target.archive !== "tar.gz";
const encoder = new TextEncoder();

/** A server with a release of a program that prints its version, and a home folder to install it to. */
async function servedRelease(
  target: ReleaseTarget,
  change: (files: Map<string, Uint8Array<ArrayBuffer> | string>) => void,
) {
  const stem = releaseStem("1.2.3", target);
  const contents: readonly ArchivedFile[] = [
    {
      path: `${stem}/bin/postern`,
      bytes: encoder.encode("#!/bin/sh\necho postern 1.2.3\n"),
      isExecutable: true,
    },
    { path: `${stem}/share/man/man1/postern.1`, bytes: encoder.encode(".TH POSTERN 1\n") },
  ];
  const archive = new Uint8Array(await tarGz(contents, new Date(0)));
  const sum = createHash("sha256").update(archive).digest("hex");
  const files = new Map<string, Uint8Array<ArrayBuffer> | string>([
    [`${stem}.tar.gz`, archive],
    [
      "SHA256SUMS",
      sumsText(new Map([[`${stem}.tar.gz`, sum], ["other.tar.gz", "0".repeat(64)]])),
    ],
  ]);
  change(files);
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, ({ url }) => {
    const file = files.get(new URL(url).pathname.replace("/files/", ""));
    return file === undefined ? new Response("absent", { status: 404 }) : new Response(file);
  });
  const home = await temporaryFolder();
  const values = { version: "1.2.3", repository: "https://github.example/some/postern" };
  const template = await Deno.readTextFile(new URL("../../packaging/install.sh", import.meta.url));
  const script = `${home.path}/install.sh`;
  await Deno.writeTextFile(script, fillIn(template, values, new Map()).text);
  return {
    home: home.path,
    async install(...args: string[]) {
      const env = { POSTERN_RELEASE: `http://127.0.0.1:${server.addr.port}/files`, HOME: home.path };
      const { code, stdout, stderr } = await new Deno.Command("sh", { args: [script, ...args], env })
        .output();
      const decoder = new TextDecoder();
      return { code, stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
    },
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await home[Symbol.asyncDispose]();
    },
  };
}

Deno.test({
  name: "the install script downloads this machine's archive, checks it and unpacks it",
  ignore,
  async fn() {
    if (target === undefined) return;
    await using release = await servedRelease(target, () => {});
    const prefix = `${release.home}/a folder`;
    const first = await release.install("--prefix", prefix);
    assert.deepEqual([first.code, first.stderr], [0, ""]);
    assert.ok(
      first.stdout.startsWith(`Postern 1.2.3 is installed as ${prefix}/bin/postern\nAdd `),
      first.stdout,
    );
    const { stdout } = await new Deno.Command(`${prefix}/bin/postern`).output();
    assert.equal(new TextDecoder().decode(stdout), "postern 1.2.3\n");
    assert.equal(await Deno.readTextFile(`${prefix}/share/man/man1/postern.1`), ".TH POSTERN 1\n");
    // over what is there
    assert.equal((await release.install(`--prefix=${prefix}`)).code, 0);
    assert.deepEqual([...Deno.readDirSync(`${prefix}/bin`)].map(({ name }) => name), ["postern"]);
  },
});

Deno.test({
  name: "the install script refuses an archive whose sum differs, and installs nothing",
  ignore,
  async fn() {
    if (target === undefined) return;
    await using release = await servedRelease(target, (files) => {
      const [archive] = files.values();
      if (archive instanceof Uint8Array) archive.set([9], 20);
    });
    const prefix = `${release.home}/prefix`;
    const { code, stdout, stderr } = await release.install("--prefix", prefix);
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(
      stderr,
      /is not what was released: its SHA-256 is [0-9a-f]{64}, expected [0-9a-f]{64}\. Nothing/,
    );
    await assert.rejects(Deno.stat(prefix), Deno.errors.NotFound);
  },
});

Deno.test({
  name: "the install script says what the release lacks, and what it does not understand",
  ignore,
  async fn() {
    if (target === undefined) return;
    await using release = await servedRelease(target, (files) => files.set("SHA256SUMS", ""));
    const stem = releaseStem("1.2.3", target);
    assert.equal((await release.install()).stderr, `install.sh: the release has no ${stem}.tar.gz\n`);
    await using empty = await servedRelease(target, (files) => files.clear());
    assert.match((await empty.install()).stderr, /install\.sh: cannot get http:.*\/SHA256SUMS\n$/);
    assert.match((await empty.install("-x")).stderr, /unexpected argument -x: expected --prefix FOLDER/);
  },
});
