import assert from "node:assert/strict";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";
import { artefact, succeed, warningsOf } from "./artefacts.ts";
import { testWithPrograms } from "../support/programs.ts";

const unit = await artefact("systemd/postern@.service");
const config = await artefact("debian/config.yaml");

/** What a key of the unit is set to, each time. */
function valuesOf(key: string): string[] {
  return [...unit.matchAll(new RegExp(`^${key}=(.*)$`, "gm"))].map(([, value = ""]) => value);
}

/** The unit as a file of its instance, with a program that is there. */
async function writeInstance(folder: string, instance: string): Promise<string> {
  const file = `${folder}/postern@${instance}.service`;
  await Deno.writeTextFile(file, unit.replaceAll("/usr/bin/postern", Deno.execPath()));
  return file;
}

for (const instance of ["http", "rag"]) {
  Deno.test(`the unit postern@${instance} runs the program on the package's configuration`, async () => {
    const [line = ""] = valuesOf("ExecStart");
    const [program, ...args] = line.replaceAll("%i", instance).split(" ");
    assert.equal(program, "/usr/bin/postern");
    const flags = parseFlags(args);
    assert.equal(flags.operation, "run");
    assert.equal(flags.configPath, "/etc/postern/config.yaml");
    assert.equal(flags.rag, instance === "rag");
    assert.equal(flags.settings.get("http.enabled")?.text, instance === "http" ? "true" : undefined);
    assert.deepEqual(await warningsOf(args, config), []);
  });
}

Deno.test("the example of a worker runs one over the unit", async () => {
  const example = await artefact("systemd/watch.conf");
  const [line = ""] = [...example.matchAll(/^ExecStart=(\S.*)$/gm)].map(([, value = ""]) => value);
  const [program, ...args] = line.split(" ");
  assert.equal(program, "/usr/bin/postern");
  const flags = parseFlags(args);
  assert.deepEqual([flags.operation, flags.pipeline, flags.configPath], [
    "watch-pipeline",
    "handbook",
    "/etc/postern/config.yaml",
  ]);
});

Deno.test("the package's configuration keeps both servers on loopback, and takes its example", async () => {
  assert.deepEqual(await warningsOf(["-http", "-rag"], config), []);
  const withExample = config.replaceAll(/^#(?=databases| {2}|audit)/gm, "");
  assert.match(withExample, /^databases:\n {2}- name: main$/m);
  assert.deepEqual(await warningsOf(["-http"], withExample), []);
  assert.equal(config.match(/address: 127\.0\.0\.1:/g)?.length, 2);
});

Deno.test("the unit waits to be told, reloads on SIGHUP, and says why V8 needs writable code", () => {
  assert.deepEqual(valuesOf("Type"), ["notify"]);
  assert.deepEqual(valuesOf("ExecReload"), ['/bin/sh -c "kill -HUP $MAINPID"']);
  assert.deepEqual(valuesOf("MemoryDenyWriteExecute"), []);
  assert.match(unit, /MemoryDenyWriteExecute: V8/);
});

testWithPrograms(
  ["systemd-analyze"],
  "systemd takes the unit without a remark, and rates its sandbox",
  async () => {
    await using folder = await temporaryFolder();
    const file = await writeInstance(folder.path, "http");
    assert.equal(await succeed("systemd-analyze", ["verify", "--man=no", file]), "");
    const rating = await succeed("systemd-analyze", ["security", "--offline=yes", "--no-pager", file]);
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(rating)?.[1]);
    assert.ok(exposure <= 1.3, `exposure ${exposure}`);
  },
);

testWithPrograms(
  ["systemd-sysusers", "systemd-tmpfiles"],
  "sysusers and tmpfiles make the user, and credential files that the server can read",
  async () => {
    await using folder = await temporaryFolder();
    const root = `--root=${folder.path}`;
    await Deno.mkdir(`${folder.path}/etc`);
    const files = ["sysusers", "tmpfiles"].map((name) => `${folder.path}/${name}.conf`);
    for (const [index, name] of ["sysusers", "tmpfiles"].entries()) {
      await Deno.writeTextFile(files[index] ?? "", await artefact(`systemd/${name}.conf`));
    }
    const [sysusers = "", tmpfiles = ""] = files;
    await succeed("systemd-sysusers", [root, sysusers]);
    const passwd = await Deno.readTextFile(`${folder.path}/etc/passwd`);
    assert.match(passwd, /^postern:[^:]*:\d+:\d+:Postern:\/var\/lib\/postern:/m);
    if (Deno.uid() !== 0) return;
    await succeed("systemd-tmpfiles", [root, "--create", tmpfiles]);
    const [, uid = ""] = /^postern:[^:]*:(\d+):/m.exec(passwd) ?? [];
    for (const [name, text] of [["tokens", "tokens: {}\n"], ["users", "users: {}\n"]]) {
      const path = `${folder.path}/var/lib/postern/${name}.yaml`;
      assert.equal(await Deno.readTextFile(path), text);
      const { uid: owner, mode } = await Deno.stat(path);
      assert.equal(owner, Number(uid));
      assert.equal((mode ?? 0) & 0o777, 0o600);
    }
  },
);
