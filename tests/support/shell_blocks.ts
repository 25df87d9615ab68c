const root = new URL("../../", import.meta.url);

/** A fenced block of shell commands. */
export interface ShellBlock {
  /** Of its first command. */
  readonly line: number;
  readonly text: string;
  /** Why the tests do not run it: what the comment before it says. */
  readonly reason?: string;
}

/** A page for people, by its path from the root, with its blocks in order. */
export interface PageWithCommands {
  readonly path: string;
  readonly blocks: readonly ShellBlock[];
}

/** README and the pages of `docs/` that show shell commands. */
export async function pagesWithCommands(): Promise<PageWithCommands[]> {
  const paths = ["README.md"];
  for (const folder of ["docs/", "docs/clients/"]) {
    for await (const { name } of Deno.readDir(new URL(folder, root))) {
      if (name.endsWith(".md")) paths.push(folder + name);
    }
  }
  const pages = await Promise.all(paths.map(async (path) => ({
    path,
    blocks: readShellBlocks(await Deno.readTextFile(new URL(path, root))),
  })));
  return pages.filter(({ blocks }) => blocks.length > 0);
}

/** Blocks in a list lose its indent. `<!-- not run by the tests: REASON -->` stands before one that is not to be run. */
export function readShellBlocks(markdown: string): ShellBlock[] {
  const pattern = /(?:^ *<!-- not run by the tests: ([^]*?) -->\n+)?^( *)```sh\n([^]*?)^\2```$/gm;
  return [...markdown.matchAll(pattern)].map(({ 1: reason, 2: indent = "", 3: text = "", index }) => ({
    line: markdown.slice(0, markdown.indexOf("```sh", index)).split("\n").length + 1,
    text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    ...(reason === undefined ? {} : { reason }),
  }));
}
