import { cp } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import denoConfig from "../deno.json" with { type: "json" };
import { listSettings } from "../src/config/schema/settings_table.ts";
import { nameChunks } from "./name_chunks.ts";

/** The program in few modules, without what it leaves unused of its packages. */
export interface Bundle extends AsyncDisposable {
  /** Holds `main.js`, and a `deno.json` for `deno compile`. */
  readonly folder: string;
  /** Paths of what no import leads to: workers, and files that packages read. */
  readonly included: readonly string[];
  /** Paths of the files that the modules were made of, those of packages among them. */
  readonly sources: readonly string[];
}

const root = fileURLToPath(new URL("../", import.meta.url));

/** Files and folders that modules read from beside them; a bundle has all of both in one folder. */
const filesOfModules = {
  ...Object.fromEntries(
    ["handbook", "shop_questions.yaml", "shop_tables.sql", "shop_views.sql"].map((name) => [
      name,
      new URL(`../src/demo/${name}`, import.meta.url),
    ]),
  ),
  "vector.tar.gz": new URL("vector.tar.gz", import.meta.resolve("@electric-sql/pglite-pgvector")),
};

/** Modules of packages that the bundler leaves alone, by how they are imported, and what the bundle has in their place. */
const replacedModules: Readonly<Record<string, { readonly file: string; readonly module: string | URL }>> = {
  // it comes minified; the bundler would make it half as long again
  "unpdf/pdfjs": { file: "pdfjs.js", module: new URL("pdfjs.mjs", import.meta.resolve("unpdf")) },
  // the SDK would run all of ajv at its import, to check answers to questions that the server never asks
  "@modelcontextprotocol/server/_shims": {
    file: "mcp_shims.js",
    module:
      'export { default as process } from "node:process";\nexport class DefaultJsonSchemaValidator {}\n',
  },
  // what the help says of settings, without zod and the schemas that it is made of
  "../config/schema/settings_table.ts": {
    file: "settings_of_help.js",
    module: `export const listSettings = () => ${
      JSON.stringify(listSettings().map(({ schema: _, path: __, ...shown }) => shown))
    };\n`,
  },
  // zod's messages in fifty languages; that in English is another import
  "../locales/index.js": { file: "zod_locales.js", module: "export {};\n" },
};

/** What modules of the bundle have to say in another way than their sources. */
const rewritings: readonly (readonly [RegExp, string])[] = [
  [/(?<=import\.meta\.resolve\("\.\/\w+_worker)\.ts(?="\))/g, ".js"],
  [/\b__dirname\b/g, "import.meta.dirname"],
  // where the packages are, in comments and names of modules: the same bundle wherever that is
  [/(?:\.\.\/)+[^"\n]*?\/npm\/[^/"\n]+\//g, "npm/"],
  ...Object.entries(replacedModules).map(([specifier, { file }]) =>
    [new RegExp(`(?<=")${specifier.replace(/\W/g, "\\$&")}(?=")`, "g"), `./${file}`] as const
  ),
];

/** The version whose bundler is used, whichever version compiles, and that runs the npm package. */
export const bundlerVersion = "2.9.6";

/**
 * Bundles the program into a temporary folder, which goes with the object.
 * @throws {Error} where the bundler fails, or a rewriting finds nothing
 */
export async function bundleProgram(): Promise<Bundle> {
  await using cleanup = new AsyncDisposableStack();
  const work = await Deno.makeTempDir({ prefix: "postern_bundle_" });
  cleanup.defer(() => Deno.remove(work, { recursive: true }));
  const [entryFolder, folder] = [join(work, "entries"), join(work, "bundle")];
  await Deno.mkdir(entryFolder);

  // beside each other, so that what becomes of them is in one folder too
  const workers = await findWorkers(join(root, "src"));
  const entries = await Promise.all([join(root, "main.ts"), ...workers].map(async (module) => {
    const entry = join(entryFolder, basename(module));
    await Deno.writeTextFile(entry, `import ${JSON.stringify(pathToFileURL(module))};\n`);
    return entry;
  }));
  await runBundler(entries, folder);
  const sources = await takeSources(folder);
  for (const { file, module } of Object.values(replacedModules)) {
    if (typeof module === "string") await Deno.writeTextFile(join(folder, file), module);
    else await Deno.copyFile(module, join(folder, file));
  }
  await rewriteModules(folder);
  await nameChunks(folder);
  for (const [name, source] of Object.entries(filesOfModules)) {
    await cp(source, join(folder, name), { recursive: true });
  }
  const { unstable } = denoConfig;
  await Deno.writeTextFile(join(folder, "deno.json"), JSON.stringify({ unstable }));

  const names = [...workers.map((path) => `${basename(path, ".ts")}.js`), ...Object.keys(filesOfModules)];
  const kept = cleanup.move();
  return {
    folder,
    sources,
    included: names.map((name) => join(folder, name)),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Their addresses are `import.meta.resolve("./NAME_worker.ts")` where they are started. */
async function findWorkers(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  const found = entries.map(({ name, isDirectory }) => {
    if (isDirectory) return findWorkers(join(folder, name));
    return name.endsWith("_worker.ts") ? [join(folder, name)] : [];
  });
  return (await Promise.all(found)).flat().sort();
}

/** What runs the Deno whose bundler is used: a command and its first arguments. */
export function bundlerCommand(): readonly [string, ...string[]] {
  return Deno.version.deno === bundlerVersion ? [Deno.execPath()] : ["npx", "-y", `deno@${bundlerVersion}`];
}

async function runBundler(entries: readonly string[], folder: string): Promise<void> {
  const [command, ...args] = bundlerCommand();
  const options = ["--quiet", "--config", join(root, "deno.json"), "--platform", "deno"];
  // not minified: a stack in the log is to say where, and to keep names alone takes time at each call of a function
  const output = ["--code-splitting", "--sourcemap=external", "--outdir", folder];
  const external = Object.keys(replacedModules).flatMap((specifier) => ["--external", specifier]);
  const bundler = new Deno.Command(command, {
    args: [...args, "bundle", ...options, ...external, ...output, ...entries],
    cwd: root,
  });
  const { success } = await bundler.spawn().status;
  if (!success) throw new Error("Cannot bundle the program: the bundler failed");
}

/** Reads the source maps, and removes them. */
async function takeSources(folder: string): Promise<string[]> {
  const sources = new Set<string>();
  for await (const { name } of Deno.readDir(folder)) {
    if (!name.endsWith(".map")) continue;
    const path = join(folder, name);
    const map: { sources: readonly string[] } = JSON.parse(await Deno.readTextFile(path));
    for (const source of map.sources) sources.add(source);
    await Deno.remove(path);
  }
  return [...sources].sort();
}

async function rewriteModules(folder: string): Promise<void> {
  const unused = new Set(rewritings);
  for await (const { name } of Deno.readDir(folder)) {
    const path = join(folder, name);
    let text = await Deno.readTextFile(path);
    for (const rewriting of rewritings) {
      if (text.search(rewriting[0]) < 0) continue;
      unused.delete(rewriting);
      text = text.replace(...rewriting);
    }
    await Deno.writeTextFile(path, text.replace(/[^\0-\x7f]/g, escaped));
  }
  for (const [pattern] of unused) {
    throw new Error(`Cannot bundle the program: no module has ${pattern.source}`);
  }
}

/**
 * A UTF-16 unit as comments, regular expressions, texts and names may have it. V8 reads a module of ASCII where it stands,
 * and makes a copy of any other, with two bytes a character.
 */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
