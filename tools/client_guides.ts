import { marked, type Token, type Tokens } from "marked";
import type { Block, Guide, Run } from "../console/connect/guide.ts";

const folder = new URL("../docs/clients/", import.meta.url);

/** The pages of `docs/clients/` as what the console shows of them, in the order of their table of contents. */
export async function clientGuides(): Promise<Guide[]> {
  const contents = await Deno.readTextFile(new URL("README.md", folder));
  const names = new Set(Array.from(contents.matchAll(/\]\((\w+)\.md\)/g), ([, name = ""]) => name));
  return await Promise.all(Array.from(names, async (name) => {
    const [first, ...rest] = marked.lexer(await Deno.readTextFile(new URL(`${name}.md`, folder)));
    if (first?.type !== "heading") throw new Error(`Cannot read docs/clients/${name}.md: it has no heading`);
    return { id: name, title: (first as Tokens.Heading).text, blocks: rest.flatMap(blocksOf) };
  }));
}

function blocksOf(token: Token): Block[] {
  switch (token.type) {
    case "heading":
      return [{ kind: "heading", runs: runsOf(token.tokens) }];
    case "paragraph":
    case "text":
      return [{ kind: "text", runs: runsOf(token.tokens) }];
    case "code":
      return [{ kind: "code", text: (token as Tokens.Code).text }];
    case "list": {
      const { ordered, items } = token as Tokens.List;
      return [{
        kind: "list",
        isOrdered: ordered,
        items: items.map(({ tokens }) => tokens.flatMap(blocksOf)),
      }];
    }
    case "table": {
      const { rows } = token as Tokens.Table;
      return [{
        kind: "list",
        isOrdered: false,
        items: rows.map((
          row,
        ) => [{ kind: "text", runs: row.flatMap(({ tokens }) => [...runsOf(tokens), " "]) }]),
      }];
    }
    case "space":
    // comments that tell the tests of the pages what to run
    case "html":
      return [];
    default:
      throw new Error(`Cannot show ${token.type} of docs/clients in the console`);
  }
}

/** Links lead to pages that the console does not have: their words stay. */
function runsOf(tokens: readonly Token[] = []): Run[] {
  return tokens.flatMap((token): Run[] => {
    if (token.type === "codespan") return [{ code: unescaped(token.raw.replace(/^`+|`+$/g, "")) }];
    if ("tokens" in token && token.tokens !== undefined) return runsOf(token.tokens);
    return [unescaped((token as Tokens.Text).text ?? token.raw)];
  });
}

function unescaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (_, name) => characters[name] ?? "").replaceAll("\n", " ");
}
