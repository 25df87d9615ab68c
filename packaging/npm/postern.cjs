#!/usr/bin/env node
// Starts Postern on the Deno that this package depends on, with what it may do.
"use strict";
const { spawn } = require("node:child_process");
const { join } = require("node:path");
const { isatty } = require("node:tty");

// npm may have been told to run no scripts: this puts Deno's executable where it belongs, once
const deno = require("deno/install_api.cjs").runInstall();
const program = join(__dirname, "program");
const options = [...require("./program/options.json"), "--config", join(program, "deno.json")];
const child = spawn(deno, ["run", ...options, join(program, "main.js"), ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { DENO_TLS_CA_STORE: "system,mozilla", DENO_NO_UPDATE_CHECK: "1", ...process.env },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // a terminal sends its own to both
  const isSentToBoth = signal === "SIGINT" && [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on(signal, () => isSentToBoth || child.kill(signal));
}
// npx passes no signal on: what ended it is to end the server, too
const { ppid } = process;
if (process.env.npm_command === "exec") {
  setInterval(() => process.ppid === ppid || child.kill("SIGTERM"), 1000).unref();
}
child.on("error", (error) => {
  process.stderr.write(`Postern cannot start Deno: ${error.message}\n`);
  process.exitCode = 1;
});
child.on("exit", (code, signal) => {
  if (signal === null) return process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
