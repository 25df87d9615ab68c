import denoConfig from "./deno.json" with { type: "json" };
import { runCommandLine } from "./src/cli/run_command_line.ts";

const encoder = new TextEncoder();

Deno.exit(
  await runCommandLine(Deno.args, { name: "postern", title: "Postern", version: denoConfig.version }, {
    print: (line) => void Deno.stdout.writeSync(encoder.encode(`${line}\n`)),
    warn: (line) => void Deno.stderr.writeSync(encoder.encode(`${line}\n`)),
  }),
);
