import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type YAMLMap,
  type YAMLSeq,
} from "yaml";
import { AppError } from "../../core/app_error.ts";

/** A credential file's YAML, with the comments and the order that an edit keeps. */
export type CredentialDocument = ReturnType<typeof parseCredentialText>;

/** A credential file's text, and where it is from. */
export interface CredentialText {
  readonly path: string;
  readonly text: string;
}

/** One entry of a credential file. */
export interface CredentialEntry {
  readonly id: string;
  readonly line: number;
  readonly fields: ReadonlyMap<string, CredentialField>;
  /** Why the entry as a whole cannot be used, by line. */
  readonly faults: readonly FieldFault[];
}

/** A field's text as the file spells it, quotes taken off; null for YAML's null, undefined for a list or a mapping. */
export interface CredentialField {
  readonly line: number;
  readonly text: string | null | undefined;
}

export type FieldValue = string | number | boolean | null;

/** Fields to be set; undefined takes a field away. */
export type EntryFields = Readonly<Record<string, FieldValue | undefined>>;

export interface EntryChange {
  readonly id: string;
  readonly fields: EntryFields;
}

export interface FieldFault {
  readonly line: number;
  readonly reason: string;
}

/** @throws AppError `invalid`, with the line, for what is not YAML */
export function parseCredentialText({ path, text }: CredentialText) {
  const lines = new LineCounter();
  // The library's own errors quote the file's text, which is secret. Its search for duplicate keys takes quadratic time;
  // readEntries() looks for them itself.
  const options = { lineCounter: lines, prettyErrors: false, uniqueKeys: false } as const;
  let yaml: Document<Node, false>;
  try {
    yaml = parseDocument<Node, false>(text, options);
  } catch (cause) {
    throw new AppError("invalid", `Cannot read ${path}: it is nested too deeply`, { cause });
  }
  // of its key alone the entry is faulty, and that is reported without losing the other entries
  const error = yaml.errors.find(({ code }) => code !== "KEY_OVER_1024_CHARS");
  if (error !== undefined) {
    const reason = error.code === "MULTIPLE_DOCS"
      ? "a second document starts after it; the file may hold only one"
      : error.message;
    throw new AppError("invalid", `Cannot read ${path}, line ${lines.linePos(error.pos[0]).line}: ${reason}`);
  }
  return {
    path,
    yaml,
    /** The line, from 1, at which a node of the document begins. */
    lineOf: (node: unknown): number => lines.linePos(isNode(node) ? (node.range?.[0] ?? 0) : 0).line,
  };
}

/**
 * A document as text, with the spacing of the text that it was parsed from.
 *
 * @throws AppError `invalid` where an alias refers to what would be removed
 */
export function renderCredentialText(file: CredentialDocument, text: string): string {
  try {
    return file.yaml.toString({ lineWidth: 0, ...spacingOf(text) });
  } catch (cause) {
    throw new AppError("invalid", `Cannot write ${file.path}: an alias refers to what would be removed`, {
      cause,
    });
  }
}

// the spacing that a file has already, so that an edit changes no line but its own
function spacingOf(text: string) {
  const indent = /^( +)[^\s#-]/m.exec(text)?.[1]?.length ?? 2;
  return {
    indent: Math.min(indent, 8),
    indentSeq: !/^- /m.test(text),
    flowCollectionPadding: !/: \{[^\s}]/.test(text),
  };
}

/**
 * The entries under a file's one top key, in the file's order: a mapping from id to entry, or a list of entries that
 * name their `id`. No entry, however odd, is left out.
 *
 * @throws AppError `invalid` with the line where the file is of neither shape, or has another key on top
 */
export function readEntries(file: CredentialDocument, section: string): CredentialEntry[] {
  const items = sectionOf(file, section)?.items ?? [];
  return markRepeatedIds(
    items.map((item) =>
      isPair(item) ? readEntry(file, item.key, item.value) : readEntry(file, undefined, item)
    ),
  );
}

/** Whether a file holds neither entries nor an empty collection of them, which says that there are to be none. */
export function namesNothing(file: CredentialDocument, section: string): boolean {
  return sectionOf(file, section) === undefined;
}

/** The same entries, those with a fault that repeat the id of one before. */
export function markRepeatedIds<T extends CredentialEntry>(entries: readonly T[]): T[] {
  const seen = new Set<string>();
  return entries.map((entry) => {
    if (!seen.has(entry.id)) {
      seen.add(entry.id);
      return entry;
    }
    return {
      ...entry,
      faults: [...entry.faults, { line: entry.line, reason: "the file has this id already" }],
    };
  });
}

/** Adds an entry at the end of its section, in the shape that the file has. */
export function appendEntry(
  file: CredentialDocument,
  section: string,
  id: string,
  fields: Readonly<Record<string, FieldValue>>,
): void {
  const { yaml } = file;
  let collection = sectionOf(file, section);
  if (collection === undefined) {
    const empty = yaml.createNode({});
    // a key without a value holds the comments below it
    const nothing: unknown = yaml.get(section, true);
    if (isScalar(nothing) && nothing.comment) empty.commentBefore = nothing.comment;
    yaml.set(section, empty);
    collection = sectionOf(file, section);
  }
  if (isSeq(collection)) collection.add(yaml.createNode({ id, ...fields }));
  else collection?.add(yaml.createPair(id, fields));
  // a collection on one line would get the whole entry on that line
  if (collection !== undefined && isMap(yaml.contents) && yaml.contents.flow !== true) {
    collection.flow = false;
  }
}

/**
 * A file's text with fields of its entries set. Comments and order stay.
 *
 * @throws AppError as readEntries, and `not_found` for an id that no entry with fields has
 */
export function changeYamlText(
  file: CredentialText,
  section: string,
  changes: readonly EntryChange[],
): string {
  const document = parseCredentialText(file);
  for (const change of changes) changeEntry(document, section, change);
  const text = renderCredentialText(document, file.text);
  parseCredentialText({ ...file, text });
  return text;
}

function changeEntry(file: CredentialDocument, section: string, { id, fields }: EntryChange): void {
  const collection = sectionOf(file, section);
  const entry = isMap(collection)
    ? collection.items.find((pair) => textOf(pair.key) === id)?.value
    : collection?.items.find((item) => idInside(item) === id);
  if (!isMap(entry)) {
    throw new AppError(
      "not_found",
      `Cannot change ${JSON.stringify(id)} in ${file.path}: the file has no such entry`,
    );
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) entry.delete(name);
    else entry.set(name, value);
  }
}

/**
 * Removes the entries with an id, and the comment right above each. A comment above the first entry of a section may be
 * about all of them and stays.
 */
export function removeEntry(file: CredentialDocument, section: string, id: string): void {
  const collection = sectionOf(file, section);
  if (isMap(collection)) collection.items = collection.items.filter((pair) => textOf(pair.key) !== id);
  else if (isSeq(collection)) collection.items = collection.items.filter((item) => idInside(item) !== id);
  const [first] = collection?.items ?? [];
  const firstNode = isPair(first) ? first.key : first;
  if (collection?.commentBefore && isNode(firstNode) && firstNode.spaceBefore) {
    // the library would indent the empty line between the two comments
    firstNode.spaceBefore = false;
    collection.commentBefore += "\n";
  }
}

/** A name in quotes, shortened, with what a reader cannot see or what would steer a terminal escaped. */
export function quoted(text: string): string {
  const short = text.length <= 80 ? text : `${text.slice(0, 79)}…`;
  return JSON.stringify(short).replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (char) => `\\u${(char.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`,
  );
}

function sectionOf(file: CredentialDocument, section: string): YAMLMap | YAMLSeq | undefined {
  const fault = (node: unknown, reason: string) =>
    new AppError("invalid", `Cannot read ${file.path}, line ${file.lineOf(node)}: ${reason}`);
  const top = file.yaml.contents;
  if (top === null || (isScalar(top) && top.value === null)) return undefined;
  if (!isMap(top)) throw fault(top, `expected a mapping with the key "${section}"`);
  const other = top.items.find((item) => textOf(item.key) !== section);
  if (other !== undefined) {
    throw fault(other.key, `unknown key ${quoted(textOf(other.key) ?? "")}; expected "${section}"`);
  }
  if (top.items.length === 0) throw fault(top, `the key "${section}" is missing`);
  const [pair, second] = top.items.filter((item) => textOf(item.key) === section);
  if (second !== undefined) throw fault(second.key, `the key "${section}" appears twice`);
  const value = pair?.value;
  if (value === undefined || value === null || (isScalar(value) && value.value === null)) return undefined;
  if (isMap(value) || isSeq(value)) return value;
  throw fault(value, `expected a mapping from id to entry under "${section}"`);
}

function readEntry({ lineOf }: CredentialDocument, key: unknown, value: unknown): CredentialEntry {
  const id = (key === undefined ? idInside(value) : textOf(key)) ?? "";
  const line = lineOf(key ?? value);
  const fields = new Map<string, CredentialField>();
  const faults: FieldFault[] = [];
  if (id === "") faults.push({ line, reason: "expected an id" });
  if (!isMap(value)) {
    const reason = isAlias(value)
      ? "expected a mapping of fields, not an alias"
      : "expected a mapping of fields";
    return { id, line, fields, faults: [...faults, { line, reason }] };
  }
  for (const field of value.items) {
    const name = textOf(field.key) ?? "";
    const fieldLine = lineOf(field.key);
    if (fields.has(name)) faults.push({ line: fieldLine, reason: `the field "${name}" appears twice` });
    fields.set(name, { line: fieldLine, text: textOf(field.value) });
  }
  if (key === undefined) fields.delete("id");
  return { id, line, fields, faults };
}

function idInside(item: unknown): string | undefined {
  const pair = isMap(item) ? item.items.find((field) => textOf(field.key) === "id") : undefined;
  return textOf(pair?.value) ?? undefined;
}

// the text and not the value: a hash of digits alone stays what it is
function textOf(node: unknown): string | null | undefined {
  // a key that an edit added is not a node yet
  if (node === null || typeof node === "string") return node;
  if (!isScalar(node)) return undefined;
  return node.value === null ? null : node.source ?? String(node.value);
}
