#!/usr/bin/env node
// Starts Postern on the Deno that this package depends on, with what it may do.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { isatty } = require("node:tty");

// npm may have been told to run no scripts: this puts Deno's executable where it belongs, once
const deno = require("deno/install_api.cjs").runInstall();
const program = join(__dirname, "program");
const options = [...require("./program/options.json"), "--config", join(program, "deno.json")];
// what is set for other programs on Node.js and Deno is not for this one
const own = /^(?:NODE_OPTIONS|DENO_(?!DIR$|CERT$|TLS_CA_STORE$).*)$/i;
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !own.test(name)));
const child = spawn(deno, ["run", ...options, join(program, "start.js"), ...process.argv.slice(2)], {
  stdio: "inherit",
  env: { DENO_TLS_CA_STORE: "system,mozilla", ...env, DENO_NO_UPDATE_CHECK: "1" },
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  // a terminal sends its own to both
  const isSentToBoth = signal === "SIGINT" && [0, 1, 2].some((descriptor) => isatty(descriptor));
  process.on(signal, () => isSentToBoth || child.kill(signal));
}
// npx passes few signals on: what ended it is to end the server, too
if (process.env.npm_command === "exec") {
  const npx = startedBy();
  setInterval(() => isAlive(npx) || child.kill("SIGTERM"), 1000).unref();
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

/** The process of npx, which may have started a shell that started this one. */
function startedBy() {
  try {
    const [, name, parent] = /\((.*)\) \S (\d+)/.exec(statOf(process.ppid));
    if (/sh$/.test(name)) return Number(parent);
  } catch {
    // the system does not tell
  }
  return process.ppid;
}

/** A process as Linux has it in /proc: its id, its name in brackets, its state, its parent's id. */
function statOf(pid) {
  if (process.platform === "linux") return readFileSync(`/proc/${pid}/stat`, "utf8");
  const fields = execFileSync("ps", ["-o", "ppid=,comm=", "-p", String(pid)], { encoding: "utf8" });
  return fields.replace(/^\s*(\d+)\s+(.*\S)\s*$/, `${pid} ($2) S $1`);
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error.code === "EPERM";
  }
}
