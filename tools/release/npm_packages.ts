import { join } from "node:path";

/** A package of npm, as the lock file pins it and as its own `package.json` describes it. */
export interface NpmPackage extends LockedPackage {
  /** An SPDX identifier or expression. */
  readonly licence: string;
  readonly author?: string;
  /** Where Deno keeps the package's files. */
  readonly folder: string;
}

/** What the lock file says of a package. */
export interface LockedPackage {
  /** The lock file's name for it: name, version, and the peers that it was resolved with. */
  readonly key: string;
  readonly name: string;
  readonly version: string;
  /** `sha512-` and Base64. */
  readonly integrity: string;
  /** The keys of the packages that it depends on. */
  readonly dependencies: readonly string[];
  /** Whether the project itself asks for it. */
  readonly isDirect: boolean;
}

interface LockFile {
  readonly specifiers: Readonly<Record<string, string>>;
  readonly npm: Readonly<Record<string, { integrity: string; dependencies?: readonly string[] }>>;
}

/** Every package of a `deno.lock`, in its order. */
export function lockedPackages(lockText: string): LockedPackage[] {
  const { specifiers, npm }: LockFile = JSON.parse(lockText);
  const direct = new Set(
    Object.entries(specifiers).map(([specifier, version]) =>
      `${specifier.replace(/^npm:(.+)@[^@]*$/, "$1")}@${version}`
    ),
  );
  const keys = Object.keys(npm);
  // a dependency has its version only where the file holds several
  const keyOf = (dependency: string) =>
    keys.find((key) => key === dependency || key.startsWith(`${dependency}_`) || nameOf(key) === dependency);
  return Object.entries(npm).map(([key, { integrity, dependencies = [] }]) => ({
    key,
    name: nameOf(key),
    version: key.slice(nameOf(key).length + 1).replace(/_.*/, ""),
    integrity,
    dependencies: dependencies.map(keyOf).filter((found) => found !== undefined),
    isDirect: direct.has(key),
  }));
}

function nameOf(key: string): string {
  return key.slice(0, key.indexOf("@", 1));
}

/**
 * The packages that files come from: paths in Deno's cache, such as a source map names them.
 *
 * @throws {Error} for a package that the lock file does not have
 */
export function packagesOfFiles(paths: Iterable<string>, locked: readonly LockedPackage[]): LockedPackage[] {
  const found = new Set<LockedPackage>();
  for (const path of paths) {
    const [, name, version] = /\/npm\/[^/]+\/((?:@[^/]+\/)?[^/]+)\/(\d[^/]*)\//.exec(path) ?? [];
    if (name === undefined) continue;
    const one = locked.find((candidate) => candidate.name === name && candidate.version === version);
    if (one === undefined) throw new Error(`Cannot find ${name}@${version} in deno.lock`);
    found.add(one);
  }
  return locked.filter((one) => found.has(one));
}

/**
 * The packages whose code a release carries: those that its bundle is made of, and those of the console's page.
 *
 * @param sources paths of the bundle's files
 */
export async function shippedPackages(sources: Iterable<string>, root: URL): Promise<NpmPackage[]> {
  const lockOf = async (path: string) => lockedPackages(await Deno.readTextFile(new URL(path, root)));
  // the page is built before a release, perhaps elsewhere
  await runDeno(
    ["install", "--quiet", "--config", "console/deno.json", "--entrypoint", "console/main.tsx"],
    root,
  );
  const { npmCache } = JSON.parse(await runDeno(["info", "--json"], root));
  const ofBundle = packagesOfFiles(sources, await lockOf("deno.lock"));
  const ofPage = carried(await lockOf("console/deno.lock"), ["@hono/zod-openapi", "zod"]);
  const others = ofPage.filter(({ key }) => ofBundle.every((one) => one.key !== key));
  return await Promise.all([...ofBundle, ...others].map((one) => describePackage(one, npmCache)));
}

/** The packages that a project asks for, and theirs, but for those of which it takes types alone. */
function carried(locked: readonly LockedPackage[], forTypes: readonly string[]): LockedPackage[] {
  const keys = new Set(
    locked.filter(({ isDirect, name }) => isDirect && !forTypes.includes(name)).map(({ key }) => key),
  );
  // it grows meanwhile
  for (const key of keys) {
    for (const each of locked.find((one) => one.key === key)?.dependencies ?? []) keys.add(each);
  }
  return locked.filter(({ key }) => keys.has(key));
}

async function runDeno(args: readonly string[], root: URL): Promise<string> {
  const { success, stdout } = await new Deno.Command(Deno.execPath(), { args: [...args], cwd: root })
    .output();
  if (!success) throw new Error(`deno ${args[0]} failed`);
  return new TextDecoder().decode(stdout);
}

/** Adds what the package itself says. @throws {Deno.errors.NotFound} for one that Deno has not fetched */
export async function describePackage(locked: LockedPackage, npmCache: string): Promise<NpmPackage> {
  const folder = await folderOf(locked, npmCache);
  const { license, author } = JSON.parse(await Deno.readTextFile(join(folder, "package.json")));
  const authorName = typeof author === "string" ? author : author?.name;
  return {
    ...locked,
    folder,
    licence: license,
    ...(typeof authorName === "string" ? { author: authorName } : {}),
  };
}

/** Deno's cache has a folder for each registry. */
async function folderOf({ name, version }: LockedPackage, npmCache: string): Promise<string> {
  for await (const registry of Deno.readDir(npmCache)) {
    const folder = join(npmCache, registry.name, name, version);
    if (await Deno.lstat(folder).then(() => true, () => false)) return folder;
  }
  throw new Deno.errors.NotFound(`Cannot find the files of ${name}@${version} in ${npmCache}`);
}
