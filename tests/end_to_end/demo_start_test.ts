import assert from "node:assert/strict";
import denoConfig from "../../deno.json" with { type: "json" };

/** What it takes is near 450 MB; 660 MB where PGlite begins with its own amount of memory, 1.7 GB without the flags. */
const maxPeakKb = 600 * 1024;

Deno.test({
  name: "the demo says at once that it starts, and fits into a container of 1 GiB",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const executable = Deno.env.get("POSTERN_EXECUTABLE");
    // the very command of `deno task demo`, without the variable and the name of the program before its arguments
    const args = executable === undefined ? denoConfig.tasks.demo.split(" ").slice(2) : ["-demo", "-http"];
    const child = new Deno.Command(executable ?? Deno.execPath(), {
      args: [...args, "-addr", "127.0.0.1:0"],
      cwd: new URL("../../", import.meta.url),
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    let stderr = "";
    const listening = Promise.withResolvers<void>();
    const collecting = (async () => {
      for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
        stderr += text;
        if (/listening on/.test(stderr)) listening.resolve();
      }
      listening.reject(new Error(`the demo ended before it listened: ${stderr}`));
    })();
    try {
      await listening.promise;
      assert.match(stderr, /^\S+ INFO {2}starting an embedded PostgreSQL.*\n/);
      const status = await Deno.readTextFile(`/proc/${child.pid}/status`);
      const peakKb = Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]);
      assert.ok(peakKb < maxPeakKb, `${peakKb} kB`);
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await collecting;
    }
  },
});
