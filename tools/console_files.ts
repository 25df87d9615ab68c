import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlerCommand } from "./bundle_program.ts";
import { clientGuides } from "./client_guides.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "console");

/**
 * The files of the console's page, by name. All but `page.html` have a hash of their content in their name, so that browsers
 * may keep them.
 */
export async function consoleFiles(): Promise<Readonly<Record<string, string>>> {
  const [scripts, style, icon, guides] = await Promise.all([
    bundleScripts(),
    joinStyles(),
    Deno.readTextFile(join(folder, "icon.svg")),
    clientGuides(),
  ]);
  const files: Record<string, string> = {};
  let page = await Deno.readTextFile(join(folder, "page.html"));
  function add(name: string, hash: string, text: string): void {
    const address = name.replace(".", `-${hash}.`);
    page = page.replaceAll(`"assets/${name}"`, `"assets/${address}"`);
    files[address] = text;
  }
  const { hash, texts } = nameScripts(scripts);
  for (const [name, text] of Object.entries(texts)) add(name, hash, text);
  const others = { "page.css": style, "icon.svg": icon, "guides.json": JSON.stringify(guides) };
  for (const [name, text] of Object.entries(others)) add(name, hashOf(text), text);
  const [unknown] = /"assets\/\w+\.\w+"/.exec(page) ?? [];
  if (unknown !== undefined) throw new Error(`Cannot build the console: there is no ${unknown}`);
  return Object.fromEntries(Object.entries({ ...files, "page.html": page }).sort());
}

/**
 * Scripts under names that are the same wherever they are built: the bundler's depend on where packages are. One hash for
 * all, since they name each other.
 */
function nameScripts(scripts: Readonly<Record<string, string>>) {
  const bundled = Object.entries(scripts).map(([name, text]) => ({
    name,
    plain: name.replace(/-[A-Z\d]{8}\.js$/, ".js"),
    text,
  }));
  const plainText = (text: string) =>
    bundled.reduce((shown, { name, plain }) => shown.replaceAll(name, plain), text);
  const ordered = bundled.map((one) => ({ ...one, compared: plainText(one.text) }))
    .sort((one, other) => one.plain + one.compared < other.plain + other.compared ? -1 : 1)
    .map((one, at, all) => ({
      ...one,
      // several may be called chunk.js
      named: one.plain === all[at - 1]?.plain ? one.plain.replace(".", `_${at}.`) : one.plain,
    }));
  const hash = hashOf(ordered.map(({ compared }) => compared).join("\0"));
  const renamed = (text: string) =>
    ordered.reduce((shown, { name, named }) => shown.replaceAll(name, named.replace(".", `-${hash}.`)), text);
  return { hash, texts: Object.fromEntries(ordered.map(({ named, text }) => [named, renamed(text)])) };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 10);
}

/** `page.css` before those of the parts. */
async function joinStyles(): Promise<string> {
  const parts = (await Array.fromAsync(Deno.readDir(folder))).filter(({ isDirectory }) => isDirectory);
  const names = await Promise.all(
    parts.map(async ({ name: part }) =>
      (await Array.fromAsync(Deno.readDir(join(folder, part)), ({ name }) => join(part, name)))
        .filter((name) => name.endsWith(".css"))
    ),
  );
  const files = ["page.css", ...names.flat().sort()];
  return (await Promise.all(files.map((name) => Deno.readTextFile(join(folder, name))))).join("\n");
}

async function bundleScripts(): Promise<Record<string, string>> {
  const output = await Deno.makeTempDir({ prefix: "postern_console_" });
  try {
    const [command, ...args] = bundlerCommand();
    const bundle = ["bundle", "--quiet", "--config", join(folder, "deno.json"), "--platform", "browser"];
    const options = ["--minify", "--code-splitting", "--outdir", output, join(folder, "main.tsx")];
    const { success } = await new Deno.Command(command, {
      args: [...args, ...bundle, ...options],
      cwd: root,
      stdout: "null",
      stderr: "inherit",
    }).output();
    if (!success) throw new Error("Cannot build the console: the bundler failed");
    const names = await Array.fromAsync(Deno.readDir(output), ({ name }) => name);
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await Deno.readTextFile(join(output, name))])),
    );
  } finally {
    await Deno.remove(output, { recursive: true });
  }
}
