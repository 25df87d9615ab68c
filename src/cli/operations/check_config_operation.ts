import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { AppError } from "../../core/app_error.ts";
import { lookAtDefinitions } from "../../app/tool_server/definitions_file.ts";
import type { RecordsRead } from "../../identity/credentials/read_records.ts";
import { readTokenFile } from "../../identity/tokens/token_file.ts";
import { readUserFile } from "../../identity/users/user_file.ts";
import { sectionNames } from "../../tool_server/definitions/sections.ts";
import { ConfigError, type Fault, faultText, loadConfig, type LoadOptions } from "../../config/mod.ts";
import { counted, jsonText, type Print, visible } from "../output.ts";
import { readYamlDocument } from "../../core/yaml/yaml_document.ts";
import { linesOf } from "../../app/checks/file_checks.ts";
import { unreadableFileWarnings } from "../../app/checks/path_faults.ts";
import { type Check, runChecks } from "../../app/checks/check.ts";
import { administratorWarnings } from "../../app/checks/startup_warnings.ts";
import { configurationChecks } from "../../app/checks/configuration_checks.ts";
import { refuseEmptyFile } from "../../app/checks/path_faults.ts";

interface CheckedConfig {
  readonly path: string | undefined;
  /** Those of the file have a line; what a start would find besides has a message alone. */
  readonly faults: readonly (Fault | { readonly message: string })[];
  readonly warnings: readonly string[];
  /** What it is where it is another file of Postern's. */
  readonly kind?: FileKind & { readonly holds: string };
}

interface FileKind {
  readonly name: string;
  /** As in `a token file`. */
  readonly is: string;
}

/**
 * Prints what this version makes of a configuration, without a database or a provider; of a token, user or definitions
 * file that was named in its place, what it makes of that.
 *
 * @returns the exit code: 1 if a server would not start with it, or leave out some of what it holds
 */
export async function checkConfig(
  options: LoadOptions,
  { json }: { readonly json: boolean },
  print: Print,
): Promise<number> {
  const { path, kind, faults, warnings } = await check(options);
  if (json) print(jsonText({ file: path ?? null, ...(kind && { kind: kind.name }), faults, warnings }));
  else {
    for (const fault of faults) {
      print(`ERROR   ${visible("path" in fault ? faultText(fault) : fault.message)}`);
    }
    for (const warning of warnings) print(`WARNING ${visible(warning)}`);
    const end = faults.length > 0 ? "cannot be used" : "can be used";
    const counts = `${counted(faults.length, "error")}, ${counted(warnings.length, "warning")}`;
    const is = kind === undefined ? "" : `is ${kind.is}, and no configuration (${kind.holds}); it `;
    print(`${visible(path ?? "The configuration")} ${is}${end}: ${counts}`);
  }
  return faults.length > 0 ? 1 : 0;
}

async function check(options: LoadOptions): Promise<CheckedConfig> {
  try {
    const { config, warnings, path } = await loadConfig(options);
    await refuseEmptyFile(path, config);
    const { signal } = new AbortController();
    const { settings = [], files = [] } = Object.groupBy(
      configurationChecks(config, Date.now),
      ({ looksAt = "network" }) => looksAt,
    );
    const run = async (checks: readonly Check[]) =>
      (await runChecks(checks, { limitMs: 10_000, signal })).flatMap((result) => result.ok ? [] : [result]);
    // a server starts whatever these say
    const ofSettings = await run(settings);
    const ofFiles = await run(files);
    const faults = ofFiles.filter(({ severity }) => severity === "error");
    const others = ofFiles.filter(({ severity }) => severity === "warning");
    return {
      path,
      faults: faults.map(({ message }) => ({ message })),
      warnings: [
        ...warnings,
        ...await unreadableFileWarnings(config),
        ...await administratorWarnings(config),
        ...[...ofSettings, ...others].map(({ message }) => message),
      ],
    };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { path, warnings } = error;
    const other = path === undefined ? undefined : await checkOtherFile(path);
    if (other !== undefined) return other;
    // the file was named by another flag than the one that the loader knows
    const faults = error.faults.map(({ flag, ...fault }) =>
      flag === undefined || flag === "-config" ? fault : { ...fault, flag }
    );
    return { path, faults, warnings };
  }
}

const otherFiles = [
  {
    name: "tokens",
    is: "a token file, for http.auth.token_file",
    keys: ["tokens"],
    look: (path: string) => lookAtRecords(path, readTokenFile, "token"),
  },
  {
    name: "users",
    is: "a user file, for http.auth.user_file",
    keys: ["users"],
    look: (path: string) => lookAtRecords(path, readUserFile, "user"),
  },
  {
    name: "definitions",
    is: "a definitions file, for custom_definitions_path",
    keys: sectionNames,
    look: lookAtDefinitions,
  },
];

/** Undefined for what has keys of no other file, or of several. */
async function checkOtherFile(path: string): Promise<CheckedConfig | undefined> {
  const text = await readRegularFile(path).catch(() => "");
  const keys = Object.keys(readYamlDocument(text).document?.tree ?? {});
  const kind = otherFiles.find((file) =>
    keys.length > 0 && keys.every((key) => file.keys.some((own) => own === key))
  );
  if (kind === undefined) return undefined;
  const { faults, holds } = await kind.look(path).catch((error) => {
    if (error instanceof AppError) return { faults: linesOf(error), holds: "nothing that can be read" };
    throw error;
  });
  return { path, kind: { ...kind, holds }, faults: faults.map((message) => ({ message })), warnings: [] };
}

async function lookAtRecords<T>(
  path: string,
  read: (path: string) => Promise<RecordsRead<T>>,
  noun: string,
): Promise<{ faults: string[]; holds: string }> {
  const { records, faults } = await read(path);
  return { faults: faults.map(({ message }) => message), holds: counted(records.length, noun) };
}
