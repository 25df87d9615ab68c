import { dirname, relative, sep } from "node:path";
import type { AppError } from "../../core/app_error.ts";
import { isWithin, type Scope } from "./find_files.ts";
import { type ConfiguredFolder, type GivenPath, invalid, isInside } from "./given_paths.ts";

/** A folder whose files are known by its name and their paths below it, wherever it is. */
export interface KnownSource {
  readonly name: string;
  /** Where it was last read; absolute, without symbolic links. */
  readonly folder: string;
  /** Whether the folder was given, and not only files in it. */
  readonly isWhole: boolean;
}

/** A source that is to be brought up to date. */
export interface Source extends KnownSource {
  /** Whether `-source` or the configuration names it. Else it has its folder's name, which other folders may have too. */
  readonly isNamed: boolean;
  /** None of them lies within another one. */
  readonly scopes: readonly Scope[];
}

/** The names and folders by which paths are assigned. */
export interface SourceKnowledge {
  /** `-source`. */
  readonly sourceName?: string | undefined;
  readonly configured: readonly ConfiguredFolder[];
  readonly known: readonly KnownSource[];
}

type Owner = Omit<Source, "scopes">;

/**
 * The source of each path, by the first of these that fits:
 *
 * 1. the configured source in which it lies;
 * 2. the one that `-source` names;
 * 3. the source in whose folder it lies: of this run, or one that the table knows;
 * 4. its own folder, by its last name as it was written: `current`, where that is a link to `releases/42`.
 *
 * @throws {AppError} `invalid` where a folder has no name, or two have the same
 */
export function assignSources(given: readonly GivenPath[], knowledge: SourceKnowledge): Source[] {
  const { configured } = knowledge;
  const sourceName = knowledge.sourceName?.normalize("NFC");
  if (sourceName !== undefined) checkName(sourceName);
  const isConfigured = ({ name }: KnownSource) => configured.some((source) => source.name === name);
  const known = knowledge.known.filter((source) => !isConfigured(source));
  const assigned = new Map<string, { owner: Owner; path: GivenPath; scopes: Map<string, Scope> }>();
  // outer folders first
  for (const path of [...given].sort((one, other) => one.location.length - other.location.length)) {
    const sameRun = [...assigned.values()].map(({ owner }) => owner).filter(({ isWhole, folder }) =>
      isWhole && isInside(path.location, folder)
    );
    const owner = configuredOwner(path, sourceName, knowledge) ?? sameRun[0] ??
      (sourceName === undefined
        ? knownOwner(path, known) ?? newOwner(path, knowledge)
        : namedOwner(path, sourceName, known));
    refuseOuter(path, configured);
    const before = assigned.get(owner.name) ?? { owner, path, scopes: new Map<string, Scope>() };
    if (before.owner.folder !== owner.folder) throw sameName(before.path, path, owner.name);
    const below = pathBelow(owner.folder, path.location);
    if (!isWithin(below, before.scopes)) before.scopes.set(below, { ...path, path: below });
    assigned.set(owner.name, before);
  }
  return [...assigned.values()].map(({ owner, scopes }) => ({ ...owner, scopes: [...scopes.values()] }));
}

/** The path of a file or folder below another one, with `/`, in NFC. */
export function pathBelow(folder: string, location: string): string {
  return relative(folder, location).split(sep).join("/").normalize("NFC");
}

function checkName(name: string): void {
  if (name.trim() !== "" && !name.startsWith("/")) return;
  throw invalid(
    `Cannot name a source "${name}": expected a name that is not blank and does not begin with /`,
  );
}

function sameName(one: GivenPath, other: GivenPath, name: string): AppError {
  return invalid(
    `Cannot ingest ${one.given} and ${other.given} together: both would be source "${name}"; ingest them one after ` +
      "the other, each with a -source NAME of its own",
  );
}

function configuredOwner(
  { given, location }: GivenPath,
  sourceName: string | undefined,
  { configured }: SourceKnowledge,
): Owner | undefined {
  const source = configured.find(({ folder }) => isInside(location, folder));
  if (source === undefined) return undefined;
  const { name, folder } = source;
  if (sourceName === undefined || sourceName === name) return { name, folder, isWhole: true, isNamed: true };
  throw invalid(
    `Cannot ingest ${given} as source "${sourceName}": the configuration has it as source "${name}"; leave -source out`,
  );
}

function namedOwner(path: GivenPath, name: string, known: readonly KnownSource[]): Owner {
  const { given, location, isFolder } = path;
  const covering = innermost(
    known.filter(({ isWhole, folder }) => isWhole && folder !== location && isInside(location, folder)),
  );
  if (covering === undefined) return { name, folder: folderOf(path), isWhole: isFolder, isNamed: true };
  if (covering.name === name) return { ...covering, isNamed: true };
  throw invalid(
    `Cannot ingest ${given} as source "${name}": it is part of source "${covering.name}" (${covering.folder}); leave ` +
      "-source out",
  );
}

function knownOwner(path: GivenPath, known: readonly KnownSource[]): Owner | undefined {
  const folder = folderOf(path);
  const source = innermost(
    known.filter((each) => each.folder === folder || (each.isWhole && isInside(path.location, each.folder))),
  );
  return source && { ...source, isWhole: source.isWhole || path.isFolder, isNamed: false };
}

function newOwner(path: GivenPath, { configured }: SourceKnowledge): Owner {
  const { folderName, given, isFolder } = path;
  if (folderName === "") {
    throw invalid(`Cannot ingest ${given}: the folder has no name; give it one with -source NAME`);
  }
  const name = folderName.normalize("NFC");
  const owner = { name, folder: folderOf(path), isWhole: isFolder, isNamed: false };
  const other = configured.find((source) => source.name === name);
  if (other === undefined) return owner;
  throw invalid(
    `Cannot ingest ${given} as source "${name}": the configuration has ${other.path} under this name; give ` +
      "another name with -source NAME",
  );
}

/** The files of a configured source would be in the table twice. */
function refuseOuter({ given, location }: GivenPath, configured: readonly ConfiguredFolder[]): void {
  const inner = configured.find(({ folder }) => folder !== location && isInside(folder, location));
  if (inner === undefined) return;
  throw invalid(
    `Cannot ingest ${given}: source "${inner.name}" of the configuration (${inner.path}) lies in it, so its files would ` +
      "be in the table twice; give the other folders one by one, or take that source out of the configuration",
  );
}

function folderOf({ location, isFolder }: GivenPath): string {
  return isFolder ? location : dirname(location);
}

/** Of folders inside of each other. */
function innermost<T extends { readonly folder: string }>(folders: readonly T[]): T | undefined {
  return folders.toSorted((one, other) => one.folder.length - other.folder.length).at(-1);
}
