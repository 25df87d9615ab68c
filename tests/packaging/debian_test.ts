import assert from "node:assert/strict";
import { buildDebianPackage } from "../../tools/build_debian_package.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { artefact, succeed } from "./artefacts.ts";
import { testWithPrograms } from "../support/programs.ts";

const epochSeconds = 1_760_000_000;

/** As a release's archive, but with a program that does nothing. */
async function unpackedArchive(folder: string): Promise<string> {
  const files = {
    "bin/postern": "#!/bin/sh\n",
    "share/man/man1/postern.1": ".TH POSTERN 1\n",
    "share/zsh/site-functions/_postern": "#compdef postern\n",
  };
  for (const [path, text] of Object.entries(files)) {
    const file = `${folder}/archive/${path}`;
    await Deno.mkdir(file.slice(0, file.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(file, text);
  }
  return `${folder}/archive`;
}

async function build(folder: string, version = "0.1.0"): Promise<string> {
  return await buildDebianPackage({
    folder: await unpackedArchive(folder),
    architecture: "amd64",
    version,
    outputFolder: folder,
    epochSeconds,
    compression: "none",
  });
}

testWithPrograms(["dpkg-deb"], "the Debian package holds what a server needs, twice the same", async () => {
  await using folder = await temporaryFolder();
  const file = await build(folder.path, "0.2.0-rc.1");
  assert.equal(file, `${folder.path}/postern_0.2.0~rc.1_amd64.deb`);
  const fields = await succeed("dpkg-deb", ["--field", file]);
  assert.match(fields, /^Version: 0\.2\.0~rc\.1$/m);
  assert.match(fields, /^Architecture: amd64$/m);
  assert.doesNotMatch(fields, /\$\{/);
  const listed = (await succeed("dpkg-deb", ["--contents", file])).trim().split("\n").map((line) =>
    line.replace(/^(\S+) (\S+) .* (\.\S*)$/, "$1 $2 $3")
  ).filter((line) => !line.endsWith("/"));
  assert.deepEqual(listed.toSorted(), [
    "-rw-r--r-- root/root ./etc/postern/config.yaml",
    "-rw-r--r-- root/root ./usr/lib/systemd/system/postern@.service",
    "-rw-r--r-- root/root ./usr/lib/sysusers.d/postern.conf",
    "-rw-r--r-- root/root ./usr/lib/tmpfiles.d/postern.conf",
    "-rw-r--r-- root/root ./usr/share/doc/postern/changelog.gz",
    "-rw-r--r-- root/root ./usr/share/doc/postern/config.example.yaml",
    "-rw-r--r-- root/root ./usr/share/doc/postern/copyright",
    "-rw-r--r-- root/root ./usr/share/lintian/overrides/postern",
    "-rw-r--r-- root/root ./usr/share/man/man1/postern.1.gz",
    "-rw-r--r-- root/root ./usr/share/zsh/vendor-completions/_postern",
    "-rwxr-xr-x root/root ./usr/bin/postern",
  ]);
  const bytes = await Deno.readFile(file);
  assert.deepEqual(await Deno.readFile(await build(folder.path, "0.2.0-rc.1")), bytes);
});

testWithPrograms(
  ["root", "dpkg", "dpkg-deb", "systemd-sysusers", "systemd-tmpfiles"],
  "installing keeps an administrator's configuration, removing keeps data, purging removes them",
  async (t) => {
    await using folder = await temporaryFolder();
    const root = `${folder.path}/root`;
    for (const path of ["etc", "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers"]) {
      await Deno.mkdir(`${root}/${path}`, { recursive: true });
    }
    await Deno.writeTextFile(`${root}/var/lib/dpkg/status`, "");
    // the maintainer's scripts run outside of the root, and are told where it is; the root has no other packages
    const dpkg = (...args: string[]) =>
      succeed("dpkg", [
        `--root=${root}`,
        "--force-script-chrootless",
        "--force-depends",
        "--force-confold",
        ...args,
      ]);
    const isThere = (path: string) => Deno.stat(`${root}/${path}`).then(() => true, () => false);
    const config = `${root}/etc/postern/config.yaml`;

    await t.step("a first installation makes the user and the folders", async () => {
      await dpkg("--install", await build(folder.path));
      assert.equal(await Deno.readTextFile(config), await artefact("debian/config.yaml"));
      assert.match(await Deno.readTextFile(`${root}/etc/passwd`), /^postern:/m);
      assert.ok(await isThere("var/lib/postern/tokens.yaml"));
      const { mode } = await Deno.stat(`${root}/etc/postern/credentials`);
      assert.equal((mode ?? 0) & 0o777, 0o700);
    });
    await t.step("an upgrade changes neither configuration nor credentials", async () => {
      await Deno.writeTextFile(config, "databases: []\n");
      await Deno.writeTextFile(`${root}/var/lib/postern/tokens.yaml`, "tokens: { one: {} }\n");
      await dpkg("--install", await build(folder.path, "0.2.0"));
      assert.equal(await Deno.readTextFile(config), "databases: []\n");
      assert.equal(await Deno.readTextFile(`${root}/var/lib/postern/tokens.yaml`), "tokens: { one: {} }\n");
    });
    await t.step("a removal keeps both", async () => {
      await dpkg("--remove", "postern");
      assert.equal(await isThere("usr/bin/postern"), false);
      assert.ok(await isThere("etc/postern/config.yaml"));
      assert.ok(await isThere("var/lib/postern/tokens.yaml"));
    });
    await t.step("a purge leaves nothing of them", async () => {
      await dpkg("--purge", "postern");
      assert.equal(await isThere("etc/postern"), false);
      assert.equal(await isThere("var/lib/postern"), false);
    });
  },
);
