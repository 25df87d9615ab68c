import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";

const root = new URL("../../", import.meta.url);

/** The pages for people, by path from the root. */
const pages = new Map<string, string>();
for (const folder of ["", "docs/", "docs/adr/", "docs/clients/"]) {
  for await (const { name } of Deno.readDir(new URL(`./${folder}`, root))) {
    if (name.endsWith(".md")) pages.set(folder + name, await Deno.readTextFile(new URL(folder + name, root)));
  }
}

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(page: string): readonly string[] {
  return [...page.replaceAll(/^ *```.*?^ *```$/gms, "").matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) =>
    heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(" ", "-")
  );
}

Deno.test("every link between the pages leads to a file and a heading that are there", async () => {
  const broken: string[] = [];
  for (const [path, page] of pages) {
    for (const [, target = ""] of page.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const url = new URL(target, new URL(path, root));
      const anchor = decodeURIComponent(url.hash.slice(1));
      url.hash = "";
      const linked = pages.get(url.href.slice(root.href.length));
      const isThere = linked === undefined
        ? await Deno.stat(url).then(() => anchor === "", () => false)
        : anchor === "" || anchorsOf(linked).includes(anchor);
      if (!isThere) broken.push(`${path}: ${target}`);
    }
  }
  assert.deepEqual(broken, []);
});

Deno.test("every test that a page names is there", async () => {
  const files = (await readdir(new URL("tests", root), { recursive: true })).map((file) => `tests/${file}`);
  const missing: string[] = [];
  let named = 0;
  for (const [path, page] of pages) {
    for (const [, name = ""] of page.matchAll(/`((?:[\w-]+\/)*[a-z]\w*_test\.ts)`/g)) {
      named++;
      if (!files.some((file) => file === name || file.endsWith(`/${name}`))) missing.push(`${path}: ${name}`);
    }
  }
  assert.deepEqual(missing, []);
  assert.ok(named > 20, `${named}`);
});
