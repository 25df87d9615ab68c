import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { bundleProgram } from "../../tools/bundle_program.ts";
import { npmTarball } from "../../tools/release/npm_tarball.ts";
import { assertHas } from "../support/assert_has.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

/** As the task `release` does before all else. */
async function makeSnapshot(): Promise<void> {
  const script = fileURLToPath(new URL("../../tools/build_demo_snapshot.ts", import.meta.url));
  const { success } = await new Deno.Command(Deno.execPath(), { args: ["run", "-A", script] }).output();
  assert.ok(success);
}

/** The package, installed from its file as somebody does who has nothing else of ours: the home folder is empty. */
async function installedPackage() {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryFolder());
  const file = join(folder.path, "postern.tgz");
  const home = join(folder.path, "home");
  const work = join(folder.path, "work");
  await makeSnapshot();
  {
    await using bundle = await bundleProgram();
    const values = { version: "1.2.3", repository: "https://github.example/some/postern" };
    const root = new URL("../../", import.meta.url);
    await Deno.writeFile(file, await npmTarball({ ...values, bundle, root, time: new Date(0), notices: "" }));
  }
  for (const path of [home, work]) await Deno.mkdir(path);
  const options = {
    cwd: work,
    env: { HOME: home },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  } as const;
  const run = async (command: string, ...args: string[]) => {
    const { code, stdout, stderr } = await new Deno.Command(command, { ...options, args }).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout);
  };
  await run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", file);
  const kept = cleanup.move();
  return {
    command: join(work, "node_modules", ".bin", "postern"),
    options,
    run,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

Deno.test("the npm package starts on the Deno that comes with it, with an empty home folder", async (t) => {
  await using installed = await installedPackage();
  const { command, options, run } = installed;

  await t.step("it is called as the package is", async () => {
    assert.match(await run(command, "-help"), /^Usage:\n {2}npx -y postern /m);
  });

  await t.step("a client over stdio asks the demo's database", async () => {
    const client = new Client({ name: "test", version: "1" });
    const { cwd, env } = options;
    const path = { PATH: Deno.env.get("PATH") ?? "" };
    await client.connect(
      new StdioClientTransport({ command, args: ["-demo"], cwd, env: { ...env, ...path }, stderr: "pipe" }),
    );
    const { structuredContent } = await client.callTool({
      name: "query_database",
      arguments: { query: "SELECT count(*) > 0 FROM products" },
    });
    assertHas(structuredContent, { rows: [[true]] });
    await client.close();
  });

  const npx = ["--offline", "--no-install", "postern"];
  for (
    const [what, starter, signal, ...flags] of [
      ["who ends the launcher", command, "SIGTERM", "-demo"],
      ["who kills the launcher", command, "SIGKILL", "-demo"],
      ["who ends npx", "npx", "SIGTERM", "-demo"],
      ["who kills npx", "npx", "SIGKILL", "-demo"],
      ["who ends the launcher of two processes", command, "SIGTERM", "-no-auth", "-processes", "2"],
      ["who kills the launcher of two processes", command, "SIGKILL", "-no-auth", "-processes", "2"],
    ] as const
  ) {
    const isOne = flags[0] === "-demo";
    const ignore = !isOne && Deno.build.os !== "linux";
    const fn = async () => {
      const args = [...(starter === "npx" ? npx : []), ...flags, "-http", "-addr", "127.0.0.1:0"];
      const child = new Deno.Command(starter, { ...options, args, stdin: "piped" }).spawn();
      let log = "";
      let url: string | undefined;
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
        log += text;
        if (url !== undefined || !(isOne || log.includes("2 processes serve"))) continue;
        url = /listening on (https?:\/\/[^\s"]+)/.exec(log)?.[1];
        if (url === undefined) continue;
        assert.equal((await (await fetch(`${url}/health`)).json()).status, "ok");
        child.kill(signal);
      }
      const { code } = await child.status;
      // in its own way, and not as a program that was killed
      if (starter === command && signal === "SIGTERM") assert.equal(code, 0, log);
      await child.stdout.cancel();
      await child.stdin.abort().catch(() => {});
      await assert.rejects(fetch(`${url}/health`));
    };
    await t.step({ name: `${what} ends the server`, ignore, fn });
  }
});
