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
  // the bundler has named the others by their content
  const { "main.js": main = "", ...files } = scripts;
  const named = {
    "main.js": main,
    "page.css": style,
    "icon.svg": icon,
    "guides.json": JSON.stringify(guides),
  };
  let page = await Deno.readTextFile(join(folder, "page.html"));
  for (const [name, text] of Object.entries(named)) {
    const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
    const address = name.replace(".", `-${hash}.`);
    if (!page.includes(`"assets/${name}"`)) {
      throw new Error(`Cannot build the console: page.html has no assets/${name}`);
    }
    page = page.replaceAll(`"assets/${name}"`, `"assets/${address}"`);
    files[address] = text;
  }
  return Object.fromEntries(Object.entries({ ...files, "page.html": page }).sort());
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
