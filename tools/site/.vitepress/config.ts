import { basename } from "node:path";
import { defineConfig } from "vitepress";

const root = new URL("../../../", import.meta.url);

/** The pages of `docs/` under what a reader looks for; a page in no group fails the build. */
const groups: Readonly<Record<string, readonly string[]>> = {
  "Start": ["install", "clients/README", "console", "coming_from_pgedge"],
  "Databases": ["mcp", "definitions", "database_care"],
  "Documents": ["rag"],
  "Who may do what": ["security", "oauth", "identity_provider"],
  "Run it": ["deployment", "reverse_proxies", "replicas", "capacity", "operations", "metrics"],
  "Look up": ["settings", "errors", "performance", "comparison", "architecture"],
};

/** Folders whose pages are groups of their own, folded. */
const folders = { "clients": "Clients", "adr": "Decisions" } as const;

async function pagesOf(folder: string): Promise<string[]> {
  const names = await Array.fromAsync(Deno.readDir(new URL(`docs/${folder}`, root)), ({ name }) => name);
  return names.filter((name) => name.endsWith(".md")).map((name) => basename(name, ".md")).sort();
}

async function entryOf(page: string) {
  const text = await Deno.readTextFile(new URL(`docs/${page}.md`, root));
  const title = /^# (.+)$/m.exec(text)?.[1] ?? page;
  return { text: title.replaceAll("`", ""), link: `/docs/${page.replace(/\/README$/, "/")}` };
}

async function sidebar() {
  const listed = Object.values(groups).flat();
  const missing = (await pagesOf("")).filter((page) => !listed.includes(page));
  if (missing.length > 0) throw new Error(`No group of tools/site has docs/${missing[0]}.md`);
  const named = Object.entries(groups).map(async ([text, pages]) => ({
    text,
    items: await Promise.all(pages.map(entryOf)),
  }));
  const folded = Object.entries(folders).map(async ([folder, text]) => ({
    text,
    collapsed: true,
    items: await Promise.all(
      (await pagesOf(folder)).filter((name) => name !== "README").map((name) => entryOf(`${folder}/${name}`)),
    ),
  }));
  return await Promise.all([...named, ...folded]);
}

export default defineConfig({
  title: "Postern",
  description:
    "PostgreSQL for AI assistants: one server that decides who may read what, and lets nothing write.",
  srcDir: "pages",
  // long names in tables would push what they mean out of sight
  head: [[
    "style",
    {},
    ".vp-doc td { min-width: 8em } .vp-doc td:first-child { min-width: 14em } .vp-doc td code { overflow-wrap: anywhere }",
  ]],
  // files that are no pages stand beside them
  ignoreDeadLinks: [/^https?:\/\/localhost/, /LICENSE\.txt$/, /\/packaging\//],
  markdown: {
    languageAlias: { caddyfile: "nginx" },
    // as GitHub names headings, so that a link is good in both places
    anchor: {
      slugify: (heading) =>
        heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").trim().replaceAll(" ", "-"),
    },
  },
  themeConfig: {
    search: { provider: "local" },
    sidebar: await sidebar(),
    outline: "deep",
  },
});
