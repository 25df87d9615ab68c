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
  for (const name of ["page.css", "icon.svg"]) {
    main.push([name, await Deno.readTextFile(join(folder, name))]);
  }
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
