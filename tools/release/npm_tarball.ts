import { readdir } from "node:fs/promises";
import { join, relative } from "node:path";
import { packBeside } from "../compile_program.ts";
import { type Bundle, bundlerVersion } from "../bundle_program.ts";
import { permissions, v8Flags } from "../../src/app/processes/runtime.ts";
import { type ArchivedFile, tarGz } from "./archives.ts";
import { fillIn, type ReleaseValues } from "./templates.ts";

/** What Deno is told; nothing of the machine's own packages and lock files is for this program. */
const options = [
  ...permissions,
  `--v8-flags=${v8Flags}`,
  ...["--no-check", "--no-lock", "--no-remote", "--no-npm", "--node-modules-dir=none"],
];

interface NpmTarballOptions extends ReleaseValues {
  readonly bundle: Bundle;
  readonly time: Date;
  /** `THIRD_PARTY_NOTICES.txt`. */
  readonly notices: string;
  readonly root: URL;
}

/**
 * The package of npm, in the form that `npm pack` has and `npm publish` takes: the bundle, and what starts it from Node.js
 * on the `deno` package.
 */
export async function npmTarball(
  { bundle, time, notices, root, ...values }: NpmTarballOptions,
): Promise<Uint8Array> {
  const more = { deno: bundlerVersion };
  const files: ArchivedFile[] = [];
  const add = (path: string, content: string | Uint8Array, isExecutable = false) =>
    files.push({
      path: `package/${path}`,
      bytes: typeof content === "string" ? new TextEncoder().encode(content) : content,
      isExecutable,
    });
  for (const name of ["package.json", "README.md", "postern.cjs"]) {
    const template = await Deno.readTextFile(new URL(`packaging/npm/${name}`, root));
    add(name, fillIn(template, values, new Map(), more).text, name === "postern.cjs");
  }
  add("LICENSE", await Deno.readTextFile(new URL("LICENSE", root)));
  add("THIRD_PARTY_NOTICES.txt", notices);
  add("program/options.json", JSON.stringify(options));
  add("program/start.js", await Deno.readTextFile(new URL("packaging/npm/start.js", root)));
  await packBeside(bundle.folder);
  const entries = await readdir(bundle.folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) =>
    join(parentPath, name)
  );
  const names = paths.map((path) => relative(bundle.folder, path));
  for (const name of names.sort()) add(`program/${name}`, await Deno.readFile(join(bundle.folder, name)));
  return await tarGz(files, time);
}
