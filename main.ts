import denoConfig from "./deno.json" with { type: "json" };
import { runCommandLine } from "./src/cli/run_command_line.ts";
import { createStreamWriter } from "./src/cli/output.ts";

const stdout = createStreamWriter(Deno.stdout, "standard output");
const stderr = createStreamWriter(Deno.stderr, "standard error");

const exitCode = await runCommandLine(
  Deno.args,
  { name: "postern", title: "Postern", version: denoConfig.version },
  { print: stdout.writeLine, warn: stderr.writeLine },
);
// what a shell shows of a program that SIGPIPE ended
Deno.exit(exitCode === 0 && stdout.isClosed() ? 128 + 13 : exitCode);
