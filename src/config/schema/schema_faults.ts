import { defined } from "../../core/defined.ts";
import type { Fault } from "../fault.ts";
import { aliases, isGiven, listenerHalves, listeners } from "./pgedge_aliases.ts";
import { configSchema } from "./config_schema.ts";
import { leafSchemas, schemaAt, sectionFields } from "./schema_walk.ts";
import type { z } from "zod";
import { formatPath, isMap, type SettingPath, valueAt, type ValueMap } from "../../core/yaml/value_tree.ts";
import { nearestName } from "../../core/text/near_name.ts";
import { redactText } from "../../core/text/redact.ts";

/** Where a value was written: its place in the file, or the variable or flag that gave it. */
export type Origin = Partial<Pick<Fault, "path" | "line" | "column" | "variable" | "flag">>;
export type Locate = (path: SettingPath, part?: "value" | "key") => Origin;

/** The schema's issues as faults, each setting once. */
export function schemaFaults(issues: readonly z.core.$ZodIssue[], tree: unknown, locate: Locate): Fault[] {
  const faults = issues.flatMap((issue) => issuesWithin(issue, tree)).flatMap((issue) => {
    const path = issue.path.filter((part) => typeof part !== "symbol");
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey(path, key, locate));
    const message = withValue(issue.message, path, valueAt(tree, path));
    return [{ path: formatPath(path), ...locate(path), message }];
  });
  return [...new Map(faults.map((fault) => [fault.path, fault])).values()];
}

/** What is wrong with the halves of addresses. Such a half is taken out of the tree: no address can be made of it. */
export function takeFaultyHalves(tree: ValueMap, locate: Locate): Fault[] {
  return listeners.flatMap((listener) => {
    const section = tree[listener];
    if (!isMap(section)) return [];
    return Object.entries(listenerHalves).flatMap(([half, schema]) => {
      const path = [listener, half];
      const value = section[half];
      // an empty value of the file is none, one of the command line is a mistake
      if (!isGiven(value) && (value !== "" || locate(path).flag === undefined)) return [];
      const isDigits = half === "listen_address" && typeof value === "number";
      const issues = schema.safeParse(isDigits ? String(value) : value).error?.issues ?? [];
      const faults = schemaFaults(issues.map((issue) => ({ ...issue, path })), tree, locate);
      if (faults.length > 0) delete section[half];
      return faults;
    });
  });
}

/** What is wrong inside of a section that text may be written in place of, where a section is what was written. */
function issuesWithin(issue: z.core.$ZodIssue, tree: unknown): z.core.$ZodIssue[] {
  const path = issue.path.filter((part) => typeof part !== "symbol");
  if (issue.code !== "invalid_union" || !isMap(valueAt(tree, path))) return [issue];
  const ofSection = issue.errors.find((errors) =>
    !errors.some(({ code, path }) => code === "invalid_type" && path.length === 0)
  );
  return ofSection?.map((inner) => ({ ...inner, path: [...path, ...inner.path] })) ?? [issue];
}

function unknownKey(parent: SettingPath, key: string, locate: Locate): Fault {
  const section = schemaAt(configSchema, parent);
  const holder = formatPath(parent).replace(/\[\d+\]/g, "[]");
  const known = section === undefined ? [] : [
    ...Object.keys(sectionFields(section) ?? {}),
    ...aliases.filter((alias) => alias.holder === holder).map(({ alias }) => alias),
  ];
  const path = formatPath([...parent, key]);
  const elsewhere = Object.hasOwn(misplacedKeys, path) ? misplacedKeys[path] : undefined;
  const suggestion = elsewhere === undefined ? nearestName(key, known) : undefined;
  const others = suggestion === undefined && elsewhere === undefined
    ? relatedSettings(holder, key, known)
    : [];
  const hint = elsewhere ?? (others.length === 0 ? undefined : `there is ${others.join(", ")}`);
  return {
    path,
    ...locate([...parent, key], "key"),
    message: hint === undefined ? "unknown key" : `unknown key: ${hint}`,
    ...defined({ suggestion }),
  };
}

const mostRelated = 4;

/**
 * Settings that an unknown key may stand for where none of its section is near: those of the section that hold all of its
 * words (`base_url` in `openai_base_url`), else those of that name elsewhere.
 */
function relatedSettings(holder: string, key: string, known: readonly string[]): string[] {
  const words = key.toLowerCase().split("_");
  const within = known.filter((name) => {
    const parts = name.split("_");
    return words.every((word) => parts.includes(word));
  });
  if (within.length > 0) {
    return within.slice(0, mostRelated).map((name) => holder === "" ? name : `${holder}.${name}`);
  }
  const named = new Set<string>();
  for (const [path] of leafSchemas(configSchema)) {
    const at = path.indexOf(key);
    if (at >= 0) named.add(formatPath(path.slice(0, at + 1)).replace(/\[\d+\]/g, "[]"));
  }
  return named.size > mostRelated ? [] : [...named];
}

function withValue(message: string, path: SettingPath, value: unknown): string {
  if (value === undefined) return `is required: ${message}`;
  const secret = path.some((part) => /password$|api_key$|headers$/.test(String(part)));
  return `${message}; got ${secret ? "a value that is not shown" : shown(value)}`;
}

function shown(value: unknown): string {
  if (value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isMap(value)) return "a mapping";
  const text = redactText(JSON.stringify(value));
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

const ofDefinitions = "definitions stand in a file of their own, which custom_definitions_path names";

/**
 * Keys by where somebody writes them who knows them from the other listener or from another of Postern's files, with what
 * to write instead.
 */
const misplacedKeys: Readonly<Record<string, string>> = {
  "server.auth.oauth":
    "the tool server has the authorization server: http.auth.oauth. The RAG server takes its tokens where both run in " +
    "one process (server.auth.methods.oauth), and those of an issuer elsewhere with server.auth.identity_provider",
  "server.enabled": "the flag -rag starts the RAG server",
  "server.allowed_origins": "on the RAG server it is server.cors.allowed_origins",
  "server.tls.chain_file":
    "on the RAG server the chain stands in server.tls.cert_file, behind the certificate",
  "http.cors": "on the tool server it is http.allowed_origins",
  "tokens": "API tokens stand in a file of their own, which http.auth.token_file names",
  "users": "users stand in a file of their own, which http.auth.user_file names",
  "tools": `${ofDefinitions}. Built-in tools: builtins.tools`,
  "prompts": `${ofDefinitions}. Built-in prompts: builtins.prompts`,
  "resources": `${ofDefinitions}. Built-in resources: builtins.resources`,
  "questions": ofDefinitions,
  "models": ofDefinitions,
};
