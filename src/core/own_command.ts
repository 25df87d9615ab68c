import { basename } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * How this program is started: the executable, npm's package, or the sources.
 *
 * @returns what help and remedies call it, where the executable has another name once it is installed; and what starts it again
 * from any folder, a command and its arguments
 */
export function ownCommand(): { readonly name: string; readonly line: readonly [string, ...string[]] } {
  if (Deno.build.standalone) {
    const path = Deno.execPath();
    return { name: basename(path).replace(/\.exe$/i, ""), line: [path] };
  }
  const main = fileURLToPath(Deno.mainModule);
  // npm's package alone has it in JavaScript
  return main.endsWith(".js")
    ? { name: "npx -y postern", line: ["npx", "-y", "postern"] }
    : { name: "server", line: ["npx", "-y", `deno@${Deno.version.deno}`, "run", "-A", main] };
}

/** A text as one word of a shell's command line, quoted where a shell would read more into it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
