import assert from "node:assert/strict";
import { flagGroups } from "../../src/cli/flags.ts";
import { manPage } from "../../tools/release/man_page.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const page = manPage({ command: "postern", version: "1.2.3", date: "2026-11-22" });

Deno.test("the man page has every flag", () => {
  for (const { flag } of flagGroups.flatMap(({ flags }) => flags)) {
    const name = `\\-${flag.replaceAll("-", "\\-")}`;
    assert.ok(page.includes(`.B "${name}"\n`) || page.includes(`.BI "${name} " "`), flag);
  }
});

Deno.test({
  name: "man shows the page, without a warning (needs GNU man)",
  ignore: !await answers("man", ["--version"], /^man \d/),
  async fn() {
    const { stdout, stderr } = await read("man", ["--warnings=w", "--encoding=ascii"]);
    assert.equal(stderr, "");
    assert.match(stdout, /^POSTERN\(1\) /);
    assert.match(stdout, /\n {7}-log-level LEVEL\n {14}\S/);
    assert.match(stdout, /\n {7}\/etc\/postern\/config\.yaml\n/);
  },
});

Deno.test({
  name: "mandoc has nothing to say of the page (needs mandoc)",
  ignore: !await answers("mandoc", ["-T", "lint", "/dev/null"], /mandoc: /),
  async fn() {
    assert.deepEqual(await read("mandoc", ["-T", "lint", "-W", "style"]), { stdout: "", stderr: "" });
  },
});

async function answers(program: string, args: readonly string[], expected: RegExp): Promise<boolean> {
  try {
    const { stdout } = await new Deno.Command(program, { args: [...args], stderr: "null" }).output();
    return expected.test(new TextDecoder().decode(stdout));
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function read(program: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  await using folder = await temporaryFolder();
  const file = `${folder.path}/postern.1`;
  await Deno.writeTextFile(file, page);
  const env = { MANWIDTH: "100", MANPAGER: "cat", LC_ALL: "C", TERM: "dumb", GROFF_NO_SGR: "1" };
  const { stdout, stderr } = await new Deno.Command(program, { args: [...args, file], env }).output();
  const decoder = new TextDecoder();
  return { stdout: decoder.decode(stdout), stderr: decoder.decode(stderr) };
}
