import {
  addressesCollide,
  isLoopback,
  type ListenAddress,
  parseListenAddress,
} from "../core/listen_address.ts";
import type { Fault } from "./fault.ts";
import { checkPipelines } from "./pipeline_faults.ts";
import type { Locate } from "./schema_faults.ts";
import { formatPath, type SettingPath } from "./setting_path.ts";
import { isMap, valueAt, type ValueMap } from "./value_tree.ts";

/** What the command line says beyond settings. */
export interface RunContext {
  /** `-allow-insecure` was given. */
  readonly allowInsecure: boolean;
  /** The RAG server runs too. */
  readonly rag: boolean;
}

type Report = (path: SettingPath, message: string) => void;

/**
 * Faults in how settings stand to each other. They are looked for in what was written, not in what was parsed, so
 * that they are reported together with the schema's own.
 */
export function ruleFaults(tree: ValueMap, context: RunContext, locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  for (const part of ["databases", "pipelines"]) checkNames(tree[part], part, report);
  checkDatabases(tree["databases"], report);
  checkTls(tree, ["http", "tls"], report);
  checkTls(tree, ["server", "tls"], report);
  checkListeners(tree, context, report);
  checkModel(tree["llm"], report);
  checkPipelines(tree, report);
  return faults;
}

function checkNames(entries: unknown, part: string, report: Report): void {
  const firstIndexes = new Map<string, number>();
  for (const [index, entry] of listOf(entries).entries()) {
    const name = valueAt(entry, ["name"]);
    if (typeof name !== "string") continue;
    const first = firstIndexes.get(name);
    if (first === undefined) firstIndexes.set(name, index);
    else report([part, index, "name"], `${JSON.stringify(name)} is the name of ${part}[${first}] too`);
  }
}

const exclusive: readonly (readonly [string, string])[] = [
  ["hosts", "host"],
  ["hosts", "port"],
  ["embedded", "host"],
  ["embedded", "port"],
  ["embedded", "hosts"],
  ["password", "password_file"],
];

function checkDatabases(entries: unknown, report: Report): void {
  for (const [index, entry] of listOf(entries).entries()) {
    if (!isMap(entry)) continue;
    for (const [one, other] of exclusive) {
      if (entry[one] === undefined || entry[other] === undefined) continue;
      report(["databases", index, other], `cannot be given together with ${one}`);
    }
    for (const [one, other] of [["sslcert", "sslkey"], ["sslkey", "sslcert"]] as const) {
      if (entry[one] === undefined || entry[other] !== undefined) continue;
      report(["databases", index, other], `is required where ${one} is given`);
    }
  }
}

function checkTls(tree: ValueMap, path: SettingPath, report: Report): void {
  if (valueAt(tree, [...path, "enabled"]) !== true) return;
  for (const key of ["cert_file", "key_file"]) {
    if (valueAt(tree, [...path, key]) === undefined) {
      report([...path, key], "is required where TLS is enabled");
    }
  }
}

const modelIsOptional: readonly unknown[] = [undefined, "local", "anthropic"];

/** No default would stay right, since models come and go; Anthropic's is the one that files for pgEdge's server leave out. */
function checkModel(llm: unknown, report: Report): void {
  const provider = valueAt(llm, ["provider"]);
  if (valueAt(llm, ["enabled"]) === false) return;
  if (provider === "local" && valueAt(llm, ["fallback"]) !== undefined) {
    report(
      ["llm", "fallback"],
      "cannot be given for local, which answers by rules and asks no other provider",
    );
  }
  if (modelIsOptional.includes(provider)) return;
  if (valueAt(llm, ["model"]) === undefined) report(["llm", "model"], `is required for ${provider}`);
}

function checkListeners(tree: ValueMap, context: RunContext, report: Report): void {
  if (valueAt(tree, ["http", "enabled"]) !== true) return;
  const written = valueAt(tree, ["http", "address"]) ?? ":8080";
  const address = typeof written === "string" ? parseListenAddress(written) : undefined;
  if (address === undefined) return;
  if (
    valueAt(tree, ["http", "auth", "enabled"]) === false && !isLoopback(address.host) &&
    !context.allowInsecure
  ) {
    const reason = `needs -allow-insecure: ${written} can be reached from other machines`;
    report(["http", "auth", "enabled"], `serving without authentication ${reason}`);
  }
  if (context.rag && addressesCollide(address, ragAddress(tree))) {
    report(["server", "port"], `the RAG server and http.address would both listen on port ${address.port}`);
  }
}

function ragAddress(tree: ValueMap): ListenAddress {
  const host = valueAt(tree, ["server", "listen_address"]) ?? "0.0.0.0";
  const port = valueAt(tree, ["server", "port"]) ?? 8080;
  return { host: String(host), port: Number(port) };
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
