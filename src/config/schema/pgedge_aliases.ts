import { z } from "zod";
import { parseListenAddress } from "../../core/address.ts";
import type { Fault } from "../fault.ts";
import { emptyLists, host, integer, pathFields, toggleFromText } from "./field_types.ts";
import {
  formatPath,
  isMap,
  type SettingPath,
  settingsOf,
  valueAt,
  type ValueMap,
} from "../../core/yaml/value_tree.ts";
import type { YamlDocument } from "../../core/yaml/yaml_document.ts";
import { listElement, ownField, recordValue, sectionFields, writtenSchema } from "./schema_walk.ts";
import { isAbsolute, join, resolve } from "node:path";

/**
 * pgEdge's two servers name the settings of a connection and of a listener differently. Postern has one name for each,
 * and takes the other's in both places. `[]` is every element of a list.
 */
const connections = ["databases[]", "pipelines[].database"];
const connectionNames: Readonly<Record<string, string>> = {
  username: "user",
  ssl_mode: "sslmode",
  ssl_cert: "sslcert",
  ssl_key: "sslkey",
  ssl_root_ca: "sslrootcert",
};
export const listeners = ["http", "server"] as const;

/** The two halves of a listener's `address`, which pgEdge's RAG server has as two settings. */
export const listenerHalves = {
  listen_address: host().describe("Host of the address"),
  port: integer(0, 65_535).describe("Port of the address; 0: any free port"),
};

/** Another name of a setting, as in `databases[].username` for `databases[].user`. */
export interface Alias {
  /** What holds the setting: `databases[]`. */
  readonly holder: string;
  readonly alias: string;
  readonly name: string;
  /** Where the alias stands for a part of the setting alone. */
  readonly schema?: z.core.$ZodType;
}

export const aliases: readonly Alias[] = [
  ...connections.flatMap((holder) =>
    Object.entries(connectionNames).map(([alias, name]) => ({ holder, alias, name }))
  ),
  ...listeners.flatMap((holder) =>
    Object.entries(listenerHalves).map(([alias, schema]) => ({ holder, alias, name: "address", schema }))
  ),
];

/**
 * Gives what stands under an alias its own name. A place, and a scalar's text, are still found where they are written.
 * The halves of addresses stay until variables and flags are laid over them: `joinAddresses`.
 */
export function useOwnNames(document: YamlDocument): { document: YamlDocument; faults: Fault[] } {
  const writtenPaths = new Map<string, SettingPath>();
  const faults: Fault[] = [];
  for (const { holder, alias, name } of aliases) {
    for (const { holder: map, path } of settingsOf(document.tree, `${holder}.${alias}`)) {
      const own = [...path.slice(0, -1), name];
      if (isGiven(map[name]) && isGiven(map[alias])) {
        const message = `cannot be given together with ${name}, which is the same`;
        faults.push({ path: formatPath(path), ...document.place(path), message });
      } else if (name !== "address" && !isGiven(map[name])) writtenPaths.set(formatPath(own), path);
      if (name === "address") continue;
      if (isGiven(map[alias])) map[name] = map[alias];
      delete map[alias];
    }
  }
  const written = (path: SettingPath) => writtenPaths.get(formatPath(path));
  return {
    faults,
    document: {
      tree: document.tree,
      place(path, part) {
        const other = written(path);
        const place = document.place(other ?? path, part);
        return place && other ? { ...place, path: formatPath(other) } : place;
      },
      sourceText: (path) => document.sourceText(written(path) ?? path),
    },
  };
}

/**
 * Makes one `address` of a listener's halves and of what they leave out: the address beside them, else the default.
 * Returns the settings whose value came from a half, with that half's name.
 */
export function joinAddresses(
  tree: ValueMap,
  defaults: Readonly<Record<typeof listeners[number], string>>,
): Map<string, string> {
  const joined = new Map<string, string>();
  for (const listener of listeners) {
    const section = tree[listener];
    if (!isMap(section)) continue;
    const halves = Object.keys(listenerHalves).filter((half) => isGiven(section[half]));
    const { listen_address, port } = section;
    for (const half of Object.keys(listenerHalves)) delete section[half];
    const last = halves.at(-1);
    if (last === undefined) continue;
    joined.set(`${listener}.address`, `${listener}.${last}`);
    const base = parseListenAddress(String(section["address"] ?? defaults[listener]));
    // what is wrong with the address is for validation to say
    if (base === undefined) continue;
    const address = addressText(
      isGiven(listen_address) ? listen_address : base.host,
      isGiven(port) ? port : base.port,
    );
    section["address"] = address;
    // a port that came so far is one
    if (parseListenAddress(address) === undefined) {
      joined.set(`${listener}.address`, `${listener}.listen_address`);
    }
  }
  return joined;
}

function addressText(host: unknown, port: unknown): string {
  const text = String(host);
  return `${text.includes(":") && !text.startsWith("[") ? `[${text}]` : text}:${port}`;
}

/** Adds the aliases to the JSON Schema of the configuration, so that an editor does not call them unknown. */
export function withAliases(
  jsonSchema: Readonly<Record<string, unknown>>,
  toJson: (schema: z.core.$ZodType) => unknown,
) {
  for (const { holder, alias, name, schema } of aliases) {
    const path = holder.split(".").flatMap((part) =>
      part.endsWith("[]") ? ["properties", part.slice(0, -2), "items"] : ["properties", part]
    );
    const properties = valueAt(jsonSchema, [...path, "properties"]);
    if (!isMap(properties)) continue;
    const like = schema === undefined ? properties[name] : toJson(schema);
    if (!isMap(like)) continue;
    const { default: _default, $schema: _schema, ...own } = like;
    properties[alias] = schema === undefined ? { ...own, description: `Another name of ${name}` } : own;
  }
  return jsonSchema;
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && !isEmpty(value);
}

interface NormalizeOptions {
  /** What relative paths are relative to. */
  readonly folder: string;
  /** What `~` stands for. */
  readonly home?: string | undefined;
  /** A scalar as it is written; without it numbers are written out again. */
  readonly sourceText?: (path: SettingPath) => string | undefined;
}

/**
 * Brings what was written to the form that the schema validates, with the meaning that the two Go programs give it:
 * an empty value is the same as none, a number where text is expected is its digits, `yes` and `on` are true, a word of
 * a choice may be in any case. Paths become absolute. What does not fit stays as it is, for validation to report.
 */
export function normalizeTree(
  value: unknown,
  schema: z.core.$ZodType,
  options: NormalizeOptions,
  path: SettingPath = [],
): unknown {
  const written = writtenSchema(schema);
  if (isMap(value)) return normalizeMap(value, written, options, path);
  const element = listElement(written);
  if (Array.isArray(value) && element !== undefined) {
    return value.map((item, index) => normalizeTree(item, element, options, [...path, index]));
  }
  if (written instanceof z.ZodBoolean && typeof value === "string") return toggleFromText(value) ?? value;
  if (written instanceof z.ZodEnum) return chosenWord(value, written.options.map(String)) ?? value;
  if (!(written instanceof z.ZodString)) return value;
  const isOtherScalar = typeof value === "number" || typeof value === "boolean";
  const text = isOtherScalar ? options.sourceText?.(path) ?? String(value) : value;
  const pathField = pathFields.get(written);
  if (pathField === undefined || typeof text !== "string" || pathField.words.includes(text)) return text;
  return absolutePath(text, options);
}

function normalizeMap(
  map: ValueMap,
  written: z.core.$ZodType,
  options: NormalizeOptions,
  path: SettingPath,
): ValueMap {
  const fields = sectionFields(written);
  const entries = Object.entries(map).flatMap(([key, item]): [string, unknown][] => {
    const schema = fields === undefined ? recordValue(written) : ownField(fields, key);
    if (schema === undefined) return [[key, item]];
    // in a mapping of free names an empty text is a value like any other
    if (fields === undefined) return [[key, normalizeTree(item ?? "", schema, options, [...path, key])]];
    const shape = writtenSchema(schema);
    if (shape instanceof z.ZodUnknown) return [[key, item]];
    // a filter in which nothing is left is a mistake: without one all rows would take part
    const mayVanish = !(isMap(item) && shape instanceof z.ZodUnion) && !emptyLists.has(shape);
    if (mayVanish && isEmpty(item)) return [];
    const entry = normalizeTree(item, schema, options, [...path, key]);
    return mayVanish && isEmpty(entry) ? [] : [[key, entry]];
  });
  return Object.fromEntries(entries);
}

/** Nothing, an empty text or list, a section in which nothing is set. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === "") return true;
  return typeof value === "object" && Object.keys(value ?? {}).length === 0;
}

function absolutePath(text: string, { folder, home }: NormalizeOptions): string {
  if (home !== undefined && (text === "~" || text.startsWith("~/"))) return join(home, text.slice(1));
  return isAbsolute(text) ? text : resolve(folder, text);
}

function chosenWord(value: unknown, words: readonly string[]): string | undefined {
  if (typeof value !== "string") return undefined;
  return words.find((word) => word.toLowerCase() === value.toLowerCase());
}
