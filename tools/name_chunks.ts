import { createHash } from "node:crypto";
import { join } from "node:path";

/** How the bundler names what several modules share: a name of one of them, and a hash. */
const chunkName = /\b([\w.-]+)-[A-Z0-9]{8}\.js\b/g;

/**
 * Names a bundle's chunks by what is in them. The bundler's names also depend on where the sources are: the same commit
 * in another folder would be another bundle.
 */
export async function nameChunks(folder: string): Promise<void> {
  const texts = new Map<string, string>();
  for await (const { name } of Deno.readDir(folder)) {
    if (name.endsWith(".js")) texts.set(name, await Deno.readTextFile(join(folder, name)));
  }
  const names = newNames(texts);
  const renamed = (text: string) => text.replaceAll(chunkName, (name) => names.get(name) ?? name);
  for (const name of texts.keys()) await Deno.remove(join(folder, name));
  for (const [name, text] of texts) await Deno.writeTextFile(join(folder, renamed(name)), renamed(text));
}

/** A chunk's new name is a hash of its text, in which other chunks stand by theirs; round by round, since they may be cyclic. */
function newNames(texts: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const chunks = [...texts].filter(([name]) => name.replace(chunkName, "") === "");
  let hashes = new Map(chunks.map(([name]) => [name, name.replace(chunkName, "$1")]));
  for (let round = 0; round < 8; round++) {
    const withHashes = (text: string) => text.replaceAll(chunkName, (name) => hashes.get(name) ?? name);
    hashes = new Map(chunks.map(([name, text]) => [
      name,
      createHash("sha256").update(`${name.replace(chunkName, "$1")}\n${withHashes(text)}`).digest("hex")
        .slice(0, 8),
    ]));
  }
  const taken = new Map<string, number>();
  return new Map(Array.from(hashes, ([name, hash]) => {
    const base = name.replace(chunkName, `$1-${hash}`);
    const count = (taken.get(base) ?? 0) + 1;
    taken.set(base, count);
    return [name, count === 1 ? `${base}.js` : `${base}-${count}.js`];
  }));
}
