import { createHash } from "node:crypto";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundlerCommand } from "./bundle_program.ts";

const root = fileURLToPath(new URL("../", import.meta.url));
const folder = join(root, "console");

/**
 * The files of the console's page, by name. All but `page.html` have a hash of their content in their name, so that browsers
 * may keep them.
 */
export async function consoleFiles(): Promise<
  Readonly<Record<string, string>>
> {
  const files: Record<string, string> = {};
  let page = await Deno.readTextFile(join(folder, "page.html"));
  const main: [string, string][] = [];
  for (const [name, text] of await bundleScripts()) {
    if (name === "main.js") main.push([name, text]);
    // the bundler has named it by its content
    else files[name] = text;
  }
  main.push(["page.css", await joinStyles()]);
  main.push(["icon.svg", await Deno.readTextFile(join(folder, "icon.svg"))]);
  const hashed = main.map(([name, text]) =>
    [name, text, withHash(name, text)] as const
  );
  for (const [name, text, named] of hashed) {
    const address = `assets/${name}`;
    if (!page.includes(`"${address}"`)) {
      throw new Error(`Cannot build the console: page.html has no ${address}`);
    }
    page = page.replaceAll(address, `assets/${named}`);
    files[named] = text;
  }
  return Object.fromEntries(
    Object.entries({ ...files, "page.html": page }).sort(),
  );
}

/** `page.css` first, then those beside the pages' parts, by path. */
async function joinStyles(): Promise<string> {
  const paths: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (!isDirectory) continue;
    for await (const file of Deno.readDir(join(folder, name))) {
      if (file.name.endsWith(".css")) paths.push(join(folder, name, file.name));
    }
  }
  const all = [join(folder, "page.css"), ...paths.sort()];
  return (await Promise.all(all.map((path) => Deno.readTextFile(path)))).join(
    "",
  );
}

function withHash(name: string, text: string): string {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  return name.replace(".", `-${hash}.`);
}

async function bundleScripts(): Promise<[name: string, text: string][]> {
  const output = await Deno.makeTempDir({ prefix: "postern_console_" });
  try {
    const [command, ...args] = bundlerCommand();
    const { success } = await new Deno.Command(command, {
      args: [
        ...args,
        ...[
          "bundle",
          "--quiet",
          "--config",
          join(folder, "deno.json"),
          "--platform",
          "browser",
        ],
        ...[
          "--minify",
          "--code-splitting",
          "--outdir",
          output,
          join(folder, "main.tsx"),
        ],
      ],
      cwd: root,
      stdout: "null",
      stderr: "inherit",
    }).output();
    if (!success) {
      throw new Error("Cannot build the console: the bundler failed");
    }
    const names = (await Array.fromAsync(Deno.readDir(output), ({ name }) =>
      name)).sort();
    return await Promise.all(
      names.map(async (name) =>
        [name, await Deno.readTextFile(join(output, name))] as [string, string]
      ),
    );
  } finally {
    await Deno.remove(output, { recursive: true });
  }
}
