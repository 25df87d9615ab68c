import assert from "node:assert/strict";
import { Parser } from "htmlparser2";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

interface Page {
  readonly links: readonly string[];
  readonly ids: ReadonlySet<string>;
}

async function readPages(folder: string): Promise<ReadonlyMap<string, Page>> {
  const pages = new Map<string, Page>();
  async function readFolder(path: string): Promise<void> {
    for await (const { name, isDirectory } of Deno.readDir(folder + path)) {
      if (isDirectory) await readFolder(`${path}${name}/`);
      else if (name.endsWith(".html") && name !== "404.html") {
        const links: string[] = [];
        const ids = new Set<string>();
        const parser = new Parser({
          onopentag(tag, { href, id }) {
            if (tag === "a" && href !== undefined) links.push(href);
            if (id !== undefined) ids.add(id);
          },
        });
        parser.end(await Deno.readTextFile(folder + path + name));
        pages.set(path + name.replace(/(?:(?<=^)index)?\.html$/, "").replace(/^index$/, ""), { links, ids });
      }
    }
  }
  await readFolder("/");
  return pages;
}

Deno.test("the site has every page of the documentation two clicks from its start, and no link that leads nowhere", async () => {
  const folder = await Deno.makeTempDir({ prefix: "postern_site_" });
  try {
    const { success, stderr } = await new Deno.Command("npx", {
      args: [
        "-y",
        "deno@2.9.6",
        "run",
        "-A",
        "--config",
        "tools/site/deno.json",
        "tools/site/build_site.ts",
        folder,
      ],
      cwd: root,
    }).output();
    assert.ok(success, new TextDecoder().decode(stderr));
    const pages = await readPages(folder);
    const site = "http://site";
    const targetOf = (href: string, from: string) => {
      const url = new URL(href, site + from);
      return url.origin === site ? url : undefined;
    };
    const nameOf = (url: URL) =>
      decodeURIComponent(url.pathname).replace(/\/index$/, "/").replace(/\.html$/, "");
    const broken: string[] = [];
    const clicks = (from: readonly string[]) =>
      from.flatMap((name) =>
        (pages.get(name)?.links ?? []).flatMap((href) => {
          const url = targetOf(href, name);
          return url === undefined ? [] : [nameOf(url)];
        })
      );
    for (const [name, { links }] of pages) {
      for (const href of links) {
        const url = targetOf(href, name);
        if (url === undefined) continue;
        const found = pages.get(nameOf(url));
        const isFile = found === undefined &&
          await Deno.stat(folder + url.pathname).then(() => true, () => false);
        const anchor = decodeURIComponent(url.hash.slice(1));
        if (!isFile && (found === undefined || (anchor !== "" && !found.ids.has(anchor)))) {
          broken.push(`${name}: ${href}`);
        }
      }
    }
    assert.deepEqual(broken, []);
    const first = new Set(clicks(["/"]));
    const second = new Set([...first, ...clicks([...first])]);
    const unreached = [...pages.keys()].filter((name) => name !== "/" && !second.has(name));
    assert.deepEqual(unreached, []);
    assert.ok(pages.size > 50);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
