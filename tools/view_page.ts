import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { bundlerCommand } from "./bundle_program.ts";

const root = new URL("../", import.meta.url);
const folder = new URL("src/tool_server/view/page/", root);

/** The page that hosts show results in, as one text: its style and its script stand in it, and nothing else may run. */
export async function viewPage(): Promise<string> {
  const [template, sheet, script] = await Promise.all([
    Deno.readTextFile(new URL("page.html", folder)),
    Deno.readTextFile(new URL("page.css", folder)),
    bundleScript(),
  ]);
  const style = sheet.replace(/\/\*[^]*?\*\//g, "").replace(/\s+/g, " ").trim();
  const unfit = /[^\n\x20-\x7e]|<\/|<!--/.exec(script + style);
  if (unfit !== null) throw new Error(`Cannot build the view: its script or style has ${unfit[0]}`);
  const parts = [
    [
      "<!-- the policy -->",
      `<meta http-equiv="Content-Security-Policy" content="${policyFor(script, style)}">`,
    ],
    ['<link rel="stylesheet" href="page.css">', `<style>${style}</style>`],
    ['<script type="module" src="page_main.ts"></script>', `<script type="module">${script}</script>`],
  ] as const;
  return parts.reduce((page, [place, part]) => {
    if (!page.includes(place)) throw new Error(`Cannot build the view: page.html has no ${place}`);
    return page.replace(place, () => part);
  }, template);
}

/**
 * A host's own policy comes on top of it. Types that are trusted: none, so that no text becomes HTML or a script, whatever
 * the script does.
 */
function policyFor(script: string, style: string): string {
  return [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

function hash(text: string): string {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

async function bundleScript(): Promise<string> {
  const [command, ...args] = bundlerCommand();
  const { success, stdout } = await new Deno.Command(command, {
    args: [
      ...args,
      ...["bundle", "--quiet", "--platform", "browser", "--minify"],
      fileURLToPath(new URL("page_main.ts", folder)),
    ],
    cwd: fileURLToPath(root),
    stderr: "inherit",
  }).output();
  if (!success) throw new Error("Cannot build the view: the bundler failed");
  return new TextDecoder().decode(stdout).trim();
}

/** The module that the program has the page from. */
export function viewModule(page: string): string {
  const literal = page.replace(/[\\`]|\$(?=\{)/g, "\\$&");
  return `// made by tools/build_view.ts of the files in page/
// deno-fmt-ignore-file

/** The page that hosts show results in. */
export const viewHtml = \`${literal}\`;
`;
}
