import { dirname, isAbsolute, join, parse, resolve, sep } from "node:path";

/** A folder whose entries decide what a path leads to. */
export interface TrailFolder {
  readonly path: string;
  /** Tells a folder from another that took its place. */
  readonly identity: string;
  /** The entries that matter, as whole paths. */
  readonly entries: ReadonlySet<string>;
}

/**
 * The folders through which a path leads to its file, from the root on: those that hold a part of the path, and those that
 * hold a part of what a symbolic link on the way points to. Folders that are not there or may not be read are left out.
 */
export async function followPath(path: string): Promise<TrailFolder[]> {
  const entriesOf = new Map<string, Set<string>>();
  const start = resolve(path);
  let folder = parse(start).root;
  let rest = partsOf(start);
  for (let links = 0; rest.length > 0 && links <= mostLinks;) {
    const [part = "", ...after] = rest;
    rest = after;
    if (part === "..") {
      folder = dirname(folder);
      continue;
    }
    const entry = join(folder, part);
    entriesOf.set(folder, (entriesOf.get(folder) ?? new Set()).add(entry));
    const link = await Deno.readLink(entry).catch(() => undefined);
    if (link === undefined) {
      folder = entry;
      continue;
    }
    links++;
    rest = [...partsOf(link), ...after];
    if (isAbsolute(link)) folder = parse(link).root;
  }
  const folders = await Promise.all(Array.from(entriesOf, ([path, entries]) => openFolder(path, entries)));
  return folders.filter((folder) => folder !== undefined);
}

// one that may not be read cannot be watched either
async function openFolder(path: string, entries: ReadonlySet<string>): Promise<TrailFolder | undefined> {
  try {
    using folder = await Deno.open(path);
    const { isDirectory, dev, ino } = await folder.stat();
    return isDirectory ? { path, identity: `${dev}:${ino}`, entries } : undefined;
  } catch {
    return undefined;
  }
}

// what Linux follows at the most
const mostLinks = 40;

function partsOf(path: string): string[] {
  const { root } = parse(path);
  return path.slice(root.length).split(sep).filter((part) => part !== "" && part !== ".");
}
