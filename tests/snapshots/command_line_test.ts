import assert from "node:assert/strict";
import { listSettings } from "../../src/config/mod.ts";
import { createConfigFolder } from "../support/configured_server.ts";
import { runProgram } from "../support/server_process.ts";
import { assertSnapshot, withoutProse } from "./snapshot.ts";

Deno.test("the flags, whether they take a value, their choices, defaults and variables", async () => {
  const { stdout } = await runProgram(["-help"]);
  // the help of a flag may go on in lines that are indented further
  const flags = stdout.replaceAll(/\n {10,}/g, " ").split("\n").filter((line) => line.startsWith("  -"));
  const facts = flags.map((line) => {
    const [, head = ""] = /^ {2}(-\S+(?: [A-Z][A-Z:,…]*)?)(?= |$)/.exec(line) ?? assert.fail(line);
    const [notes = ""] = /\(([^()]*POSTERN_[A-Z_]+|default [^()]*)\)$/.exec(line) ?? [];
    return `${head} ${notes}`.trimEnd();
  });
  await assertSnapshot("flags.txt", `${facts.toSorted().join("\n")}\n`);
});

Deno.test("the settings that a variable can give", async () => {
  const lines = listSettings().map(({ name, variable, defaultText = "", choices = [] }) =>
    [name, variable, defaultText, choices.join("|")].join("\t").trimEnd()
  );
  await assertSnapshot("settings.txt", `${lines.join("\n")}\n`);
});

Deno.test("the JSON Schema of the configuration", async () => {
  await assertSnapshot("config_schema.json", withoutProse((await runProgram(["-config-schema"])).stdout));
});

Deno.test("the OpenAPI description of the RAG server", async () => {
  const description = withoutProse((await runProgram(["-openapi"])).stdout);
  await assertSnapshot("openapi.json", description.replace(/"version": "[^"]*"/, '"version": "<version>"'));
});

const commandLines = [
  "-version",
  "-help -nope",
  "-nope",
  "stray",
  "-addr",
  "-http=maybe",
  "-add-token -list-tokens",
  "-add-token -http",
  "-add-token -token-expiry 1x",
  "-cert server.crt",
  "-rag-port 1",
  "-json",
  "-add-user",
  "-ingest docs",
  "-evaluate docs -queries q.tsv",
  "-config missing.yaml -http",
  "-config faulty.yaml -http",
  "-config config.yaml -http -no-auth -addr 0.0.0.0:0",
  "-config config.yaml -http -addr nowhere",
  "-config config.yaml -list-tokens",
  "-config config.yaml -list-users",
  "-config config.yaml -add-user -username alice -password short",
  "-config config.yaml -add-token -token-database none",
  "-config config.yaml -remove-token none",
  "-config config.yaml -delete-user -username nobody",
  "-config config.yaml -index-pipeline none",
  "-config config.yaml -drop-index none",
  "-config config.yaml -ingest none .",
  "-config config.yaml -evaluate none -queries q.tsv -qrels q.tsv",
  "-config config.yaml -doctor",
  "-config unreachable.yaml -doctor",
  "-verify-audit missing.jsonl",
  "-verify-audit faulty.yaml",
];

Deno.test("exit codes, and where the program says what it did", async () => {
  await using folder = await createConfigFolder("databases: []\n");
  const unreachable = "databases: [{ name: one, host: 127.0.0.1, port: 1 }]\n";
  await Deno.writeTextFile(`${folder.path}/unreachable.yaml`, unreachable);
  await Deno.writeTextFile(`${folder.path}/faulty.yaml`, "htpp: {}\n");
  const run = async (line: string) => {
    const args = line.split(" ").map((arg) => /\.\w+$|^\.$/.test(arg) ? `${folder.path}/${arg}` : arg);
    const { code, stdout, stderr } = await runProgram(args);
    const said = Object.entries({ stdout, stderr }).flatMap(([name, text]) => text === "" ? [] : [name]);
    return `${code} ${said.join("+").padEnd(7)} ${line}`;
  };
  const lines: string[] = [];
  const atOnce = 4;
  for (let start = 0; start < commandLines.length; start += atOnce) {
    lines.push(...await Promise.all(commandLines.slice(start, start + atOnce).map(run)));
  }
  await assertSnapshot("exit_codes.txt", `${lines.join("\n")}\n`);
});
