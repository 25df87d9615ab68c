/**
 * Builds the site of the documentation: `build_site.ts [FOLDER [PATH]]`, by default in `dist/site`, for a host that shows
 * it at `/`.
 */
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vitepress";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = resolve(here, "../..");
const [folder = join(root, "dist/site"), base = "/"] = Deno.args;
const outDir = resolve(folder);

/** The generator finds its packages beside the pages alone: it gets copies of them. */
const pages = join(here, "pages");

async function write(path: string, text: string): Promise<void> {
  await Deno.mkdir(dirname(join(pages, path)), { recursive: true });
  await Deno.writeTextFile(join(pages, path), text);
}

/** Copies a file that is no page, byte for byte: it may be a picture. */
async function copyFile(from: string, to = from): Promise<void> {
  await Deno.mkdir(dirname(join(pages, to)), { recursive: true });
  await Deno.copyFile(join(root, from), join(pages, to));
}

/** Copies a page, and the files besides pages that it links to; the generator takes one without a suffix for a page. */
async function copyPage(from: string, to = from): Promise<void> {
  const text = await Deno.readTextFile(join(root, from));
  await write(
    to,
    text.replaceAll(/\b(clients|adr)\/README\.md/g, "$1/index.md").replaceAll("](LICENSE)", "](LICENSE.txt)"),
  );
  for (const [, target = ""] of text.matchAll(/\]\(([\w./-]+)\)/g)) {
    if (target.endsWith(".md") || target.endsWith("/")) continue;
    const file = join(dirname(from), target);
    await copyFile(file, `public/${file === "LICENSE" ? "LICENSE.txt" : file}`);
  }
}

async function copyPages(folder: string): Promise<void> {
  for await (const { name, isDirectory } of Deno.readDir(join(root, folder))) {
    const path = `${folder}/${name}`;
    if (isDirectory) await copyPages(path);
    else if (name.endsWith(".md")) await copyPage(path, path.replace(/README\.md$/, "index.md"));
    else await copyFile(path);
  }
}

await Deno.remove(pages, { recursive: true }).catch(() => {});
try {
  await copyPages("docs");
  for (const page of ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]) await copyPage(page);
  await copyPage("tools/site/start.md", "index.md");
  await build(here, { outDir, base });
} finally {
  await Deno.remove(pages, { recursive: true });
}
// deno-lint-ignore no-console -- the answer to who ran it
console.log(`The site is in ${outDir}`);
