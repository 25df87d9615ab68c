import { marked, type Token, type Tokens } from "marked";
import type { Guide, GuideNode } from "../console/connect/guide.ts";

const folder = new URL("../docs/clients/", import.meta.url);

/** The pages of `docs/clients/` as what the console shows of them, in the order of their table of contents. */
export async function clientGuides(): Promise<Guide[]> {
  const contents = await Deno.readTextFile(new URL("README.md", folder));
  const names = new Set(Array.from(contents.matchAll(/\]\((\w+)\.md\)/g), ([, name = ""]) => name));
  return await Promise.all(Array.from(names, async (name) => {
    const [first, ...rest] = marked.lexer(await Deno.readTextFile(new URL(`${name}.md`, folder)));
    if (first?.type !== "heading") throw new Error(`Cannot read docs/clients/${name}.md: it has no heading`);
    return { id: name, title: (first as Tokens.Heading).text, nodes: rest.flatMap(nodesOf) };
  }));
}

function nodesOf(token: Token): GuideNode[] {
  switch (token.type) {
    case "heading":
      return [["h3", ...textsOf(token.tokens)]];
    case "paragraph":
    case "text":
      return [["p", ...textsOf(token.tokens)]];
    case "code":
      return [["pre", (token as Tokens.Code).text]];
    case "list": {
      const { ordered, items } = token as Tokens.List;
      return [[
        ordered ? "ol" : "ul",
        ...items.map(({ tokens }) => ["li", ...tokens.flatMap(nodesOf)] as const),
      ]];
    }
    case "table": {
      const { rows } = token as Tokens.Table;
      const textsOfRow = (row: Tokens.TableCell[]) => row.flatMap(({ tokens }) => [...textsOf(tokens), " "]);
      return [["ul", ...rows.map((row) => ["li", ["p", ...textsOfRow(row)]] as const)]];
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
function textsOf(tokens: readonly Token[] = []): GuideNode[] {
  return tokens.flatMap((token): GuideNode[] => {
    if (token.type === "codespan") return [["code", unescaped(token.raw.replace(/^`+|`+$/g, ""))]];
    if ("tokens" in token && token.tokens !== undefined) return textsOf(token.tokens);
    return [unescaped((token as Tokens.Text).text ?? token.raw)];
  });
}

function unescaped(text: string): string {
  const characters: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', "#39": "'" };
  return text.replace(/&(lt|gt|amp|quot|#39);/g, (_, name) => characters[name] ?? "").replaceAll("\n", " ");
}
