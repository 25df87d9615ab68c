import {
  type Document,
  isAlias,
  isMap as isYamlMap,
  isScalar,
  isSeq,
  LineCounter,
  type Pair,
  parseDocument,
  type YAMLMap,
  type YAMLParseError,
} from "yaml";
import type { Fault, Place, PlaceOf } from "./file_fault.ts";
import { formatPath, isMap, type SettingPath, type ValueMap } from "./value_tree.ts";

type PlaceAt = (offset: number) => Place;
/** What an alias stands for; any other node is itself. */
type Resolve = (node: unknown) => unknown;

/** A file of YAML or JSON that has been read, and where in it things are written. */
export interface YamlDocument {
  readonly tree: ValueMap;
  readonly place: PlaceOf;
  /** A scalar as it is written, so that a password of digits keeps its leading zeros. */
  sourceText(path: SettingPath): string | undefined;
}

/** Aliases may not multiply a small file into gigabytes. */
const maxAliasCount = 100;

/** Reads YAML 1.2 with merge keys. With faults there may be no document: then nothing in the text can be relied on. */
export function readYamlDocument(text: string): { document?: YamlDocument; faults: Fault[] } {
  const lineCounter = new LineCounter();
  const yaml = parseDocument(text, {
    lineCounter,
    prettyErrors: false,
    uniqueKeys: false,
    merge: true,
  });
  const placeAt: PlaceAt = (offset) => {
    const { line, col } = lineCounter.linePos(offset);
    return { line, column: col };
  };
  if (yaml.errors.length > 0) {
    // what follows the first few is mostly their consequence
    const errors = yaml.errors.slice(0, 5);
    return {
      faults: errors.map((error) => ({ path: "", ...placeAt(error.pos[0]), message: syntaxMessage(error) })),
    };
  }
  const faults = [...duplicateKeys(yaml.contents, [], placeAt)];
  let tree: unknown;
  try {
    tree = yaml.toJS({ maxAliasCount }) ?? {};
  } catch (error) {
    return { faults: [...faults, { path: "", message: aliasMessage(error) }] };
  }
  if (!isMap(tree)) {
    return {
      faults: [...faults, { path: "", line: 1, column: 1, message: "expected a mapping of settings" }],
    };
  }
  const document = createDocument(tree, yaml, placeAt);
  const cycle = findCycle(tree, [], new Set());
  if (cycle !== undefined) {
    const message = "the alias stands within what it names, which would never end";
    return { faults: [...faults, { path: formatPath(cycle), ...document.place(cycle, "key"), message }] };
  }
  return { document, faults };
}

/** Where a value holds itself, as an alias within its own anchor makes it. */
function findCycle(value: unknown, path: SettingPath, around: Set<unknown>): SettingPath | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (around.has(value)) return path;
  around.add(value);
  for (const [key, inner] of Object.entries(value)) {
    const cycle = findCycle(inner, [...path, Array.isArray(value) ? Number(key) : key], around);
    if (cycle !== undefined) return cycle;
  }
  around.delete(value);
  return undefined;
}

function createDocument(tree: ValueMap, yaml: Document.Parsed, placeAt: PlaceAt): YamlDocument {
  const resolve = (node: unknown): unknown => isAlias(node) ? node.resolve(yaml) : node;
  const find = (path: SettingPath) => findNode(yaml.contents, path, resolve);
  return {
    tree,
    place(path, part = "value") {
      const { node, found, keyOffset } = find(path);
      const isValue = part === "value" && found && isScalar(node) && node.value !== null;
      const offset = isValue ? startOf(node) : keyOffset;
      return offset === undefined ? undefined : placeAt(offset);
    },
    sourceText(path) {
      const { node, found } = find(path);
      return found && isScalar(node) ? node.source : undefined;
    },
  };
}

function syntaxMessage({ code, message }: YAMLParseError): string {
  return code === "MULTIPLE_DOCS" ? "a second document starts here; the file may hold only one" : message;
}

function aliasMessage(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /alias count/i.test(message) ? "the aliases expand to too much" : message;
}

/** Follows a path as far as it goes; the offset is where the last key or list element on the way starts. */
function findNode(root: unknown, path: SettingPath, resolve: Resolve) {
  let node = root;
  let keyOffset: number | undefined;
  for (const part of path) {
    const parent = resolve(node);
    if (isYamlMap(parent)) {
      const pair = findPair(parent, String(part), resolve);
      if (pair === undefined) return { node, keyOffset, found: false };
      keyOffset = startOf(pair.key) ?? keyOffset;
      node = pair.value;
    } else if (isSeq(parent) && typeof part === "number" && part < parent.items.length) {
      node = parent.items[part];
      keyOffset = startOf(node) ?? keyOffset;
    } else return { node, keyOffset, found: false };
  }
  return { node, keyOffset, found: true };
}

/** A mapping's own entry, else the one that a merge key brings in; the last of several, as in the tree. */
function findPair(map: YAMLMap, name: string, resolve: Resolve): Pair | undefined {
  const named = (wanted: string) => map.items.findLast(({ key }) => keyName(key) === wanted);
  const own = named(name);
  if (own !== undefined) return own;
  const merged = resolve(named("<<")?.value);
  for (const source of isSeq(merged) ? merged.items : [merged]) {
    const from = resolve(source);
    const pair = isYamlMap(from) ? findPair(from, name, resolve) : undefined;
    if (pair !== undefined) return pair;
  }
  return undefined;
}

/** A merge key's value is a symbol, its source is not. */
function keyName(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined;
  return typeof key.value === "symbol" ? key.source : String(key.value);
}

function startOf(node: unknown): number | undefined {
  return isScalar(node) || isYamlMap(node) || isSeq(node) || isAlias(node) ? node.range?.[0] : undefined;
}

/** YAML forbids a key twice in one mapping; which of the two was meant nobody can tell. */
function* duplicateKeys(
  node: unknown,
  path: SettingPath,
  placeAt: PlaceAt,
): Generator<Fault> {
  if (isSeq(node)) {
    for (const [index, item] of node.items.entries()) yield* duplicateKeys(item, [...path, index], placeAt);
  }
  if (!isYamlMap(node)) return;
  const firstLines = new Map<string, number>();
  for (const { key, value } of node.items) {
    const name = keyName(key);
    if (name === undefined) continue;
    const place = placeAt(startOf(key) ?? 0);
    const firstLine = firstLines.get(name);
    if (firstLine === undefined) firstLines.set(name, place.line);
    else if (name !== "<<") {
      yield { path: formatPath([...path, name]), ...place, message: `set twice; first on line ${firstLine}` };
    }
    yield* duplicateKeys(value, [...path, name], placeAt);
  }
}
