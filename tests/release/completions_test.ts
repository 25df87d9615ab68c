import assert from "node:assert/strict";
import { flagGroups } from "../../src/cli/flags.ts";
import { bashCompletion, fishCompletion, zshCompletion } from "../../tools/release/completions.ts";
import { temporaryFolder } from "../support/temporary_folder.ts";

const names = flagGroups.flatMap(({ flags }) => flags.map(({ flag }) => flag));

/** Runs a script, and resolves with the lines that it prints; undefined where the shell is not there. */
async function run(shell: string, args: readonly string[], cwd?: string): Promise<string[] | undefined> {
  const options = { args: [...args], ...(cwd === undefined ? {} : { cwd }) };
  try {
    const { code, stdout, stderr } = await new Deno.Command(shell, options).output();
    assert.equal(code, 0, new TextDecoder().decode(stderr));
    return new TextDecoder().decode(stdout).split("\n").filter((line) => line !== "");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return undefined;
    throw error;
  }
}

const hasBash = await run("bash", ["--version"]) !== undefined;
const hasZsh = await run("zsh", ["--version"]) !== undefined;
const hasFish = await run("fish", ["--version"]) !== undefined;

Deno.test({
  name: "bash completes flags, values and files (needs bash)",
  ignore: !hasBash,
  async fn(t) {
    await using folder = await temporaryFolder();
    await Deno.writeTextFile(`${folder.path}/my config.yaml`, "");
    const script = `${folder.path}/completion.sh`;
    await Deno.writeTextFile(script, bashCompletion("postern"));
    const cases: readonly (readonly [words: string[], completed: string[]])[] = [
      [["-log-l"], ["-log-level"]],
      [["--log-l"], ["--log-level"]],
      [["-log-level", "d"], ["debug"]],
      [["--log-level", ""], ["debug", "info", "warn", "error"]],
      [["-log-level", "=", "wa"], ["warn"]],
      [["-log-level", "="], ["debug", "info", "warn", "error"]],
      [["-config", "my"], ["my config.yaml"]],
      [["-db-host", "my"], []],
      [["-http", "my"], []],
      [["-ingest", "handbook", "my"], ["my config.yaml"]],
      [["-http", "-n"], ["-no-auth"]],
      [["-"], names.map((name) => `-${name}`)],
    ];
    for (const [words, completed] of cases) {
      await t.step(words.join(" "), async () => {
        const ask = `source "$1"; shift; COMP_WORDS=(postern "$@"); COMP_CWORD=$#; _postern
          [ \${#COMPREPLY[@]} = 0 ] || printf '%s\\n' "\${COMPREPLY[@]}"; complete -p postern >/dev/null`;
        const lines = await run("bash", ["-c", ask, "bash", script, ...words], folder.path);
        assert.deepEqual(lines, completed);
      });
    }
  },
});

Deno.test({
  name: "fish completes flags and values (needs fish)",
  ignore: !hasFish,
  async fn() {
    await using folder = await temporaryFolder();
    const script = `${folder.path}/postern.fish`;
    await Deno.writeTextFile(script, fishCompletion("postern"));
    const complete = async (line: string) =>
      (await run("fish", ["-c", `source ${script}; complete -C '${line}'`], folder.path))?.map((found) =>
        found.split("\t")[0]
      );
    assert.deepEqual(await complete("postern -log-l"), ["-log-level"]);
    assert.deepEqual(await complete("postern -log-level d"), ["debug"]);
    assert.deepEqual(await complete("postern -config pos"), ["postern.fish"]);
    assert.deepEqual(await complete("postern -ingest handbook pos"), ["postern.fish"]);
    assert.deepEqual(await complete("postern -http pos"), []);
    const all = await complete("postern -");
    assert.deepEqual(names.filter((name) => !all?.includes(`-${name}`)), []);
  },
});

Deno.test({
  name: "zsh reads its completion (needs zsh)",
  ignore: !hasZsh,
  async fn() {
    await using folder = await temporaryFolder();
    await Deno.writeTextFile(`${folder.path}/_postern`, zshCompletion("postern"));
    assert.deepEqual(await run("zsh", ["-n", `${folder.path}/_postern`]), []);
    const load =
      `fpath=(${folder.path} $fpath); autoload -U compinit; compinit -D -u; print $_comps[postern]`;
    assert.deepEqual(await run("zsh", ["-fc", load]), ["_postern"]);
  },
});

Deno.test("each shell's completion has every flag", () => {
  for (const name of names) {
    assert.match(fishCompletion("postern"), new RegExp(`^complete -c postern -o ${name} `, "m"), name);
    assert.match(zshCompletion("postern"), new RegExp(`^  '-${name}=?\\[`, "m"), name);
  }
});
