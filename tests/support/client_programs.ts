import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./temporary_folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const config = join(root, "tests/clients/deno.json");

/** Runs a program of `tests/clients/` on the packages there, and returns what it prints. */
export async function runClientProgram(
  script: string,
  { args = [], env = {} }: {
    args?: readonly string[];
    env?: Record<string, string>;
  },
): Promise<string> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      "--quiet",
      "--no-check",
      "--frozen",
      "--config",
      config,
      script,
      ...args,
    ],
    cwd: root,
    env: { ...env, DENO_NO_UPDATE_CHECK: "1" },
    stdin: "null",
  });
  const { code, stdout, stderr } = await command.output();
  assert.equal(code, 0, `${script}: ${new TextDecoder().decode(stderr)}`);
  return new TextDecoder().decode(stdout);
}

/** The blocks of a page that are in a language, in their order. */
export async function readCodeBlocks(
  page: string,
  language: string,
): Promise<string[]> {
  const text = await Deno.readTextFile(join(root, page));
  const pattern = new RegExp(
    `^( *)\`\`\`${language}\\n([^]*?)^\\1\`\`\`$`,
    "gm",
  );
  return [...text.matchAll(pattern)].map(([, indent = "", code = ""]) =>
    code.replaceAll(new RegExp(`^${indent}`, "gm"), "")
  );
}

/** Runs the program that a page shows in TypeScript, and returns what it prints. */
export async function runPageProgram(
  page: string,
  env: Record<string, string>,
): Promise<string> {
  const [code, ...others] = await readCodeBlocks(page, "ts");
  assert.ok(
    code !== undefined && others.length === 0,
    `${page} has one program in TypeScript`,
  );
  await using folder = await temporaryFolder();
  const script = join(folder.path, "page.ts");
  await Deno.writeTextFile(script, code);
  return await runClientProgram(script, { env });
}
