import { access, constants } from "node:fs/promises";
import { dirname } from "node:path";
import { type Config, ConfigError } from "../../config/mod.ts";
import { configSchema } from "../../config/schema/config_schema.ts";
import { pathsIn } from "../../config/schema/schema_walk.ts";
import { AppError } from "../../core/app_error.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { formatPath } from "../../core/yaml/value_tree.ts";

/** What becomes of a path: `made` files and folders may be absent, and are written; `kept` ones are read where they are there. */
type PathUse = "made folder" | "made file" | "kept folder" | "kept file" | "read file";

/**
 * Refuses a path that cannot serve as what its setting is for, as far as the file system tells without a change.
 * @throws {AppError} `invalid`: it names the setting, the path, what is wrong and what to do
 */
export async function requirePath(setting: string, path: string, use: PathUse): Promise<void> {
  const why = await whyUnusable(path, use);
  if (why !== undefined) throw new AppError("invalid", `${setting}: cannot use ${path}: ${why}`);
}

/**
 * The folders and files that the servers write, and their credential files, before one of them begins.
 * @param rag whether the RAG server runs
 * @throws {AppError} as `requirePath`
 */
export async function requireServedPaths(
  { data_dir, databases, audit, http, server }: Config,
  rag: boolean,
): Promise<void> {
  if (data_dir !== undefined) await requirePath("data_dir", data_dir, "made folder");
  if (audit.file !== undefined) await requirePath("audit.file", audit.file, "made file");
  for (const [at, { embedded }] of databases.entries()) {
    if (embedded === undefined || embedded === "memory") continue;
    await requirePath(`databases[${at}].embedded`, embedded, "made folder");
  }
  for (
    const [name, isServed, { enabled, token_file, user_file }] of [
      ["http", http.enabled, http.auth],
      ["server", rag, server.auth],
    ] as const
  ) {
    if (!isServed || !enabled) continue;
    await requirePath(`${name}.auth.token_file`, token_file, "kept file");
    await requirePath(`${name}.auth.user_file`, user_file, "kept file");
  }
}

/** Settings whose files a start looks at by itself, folders that only -ingest looks at, and models, which are folders or files. */
const lookedAtElsewhere =
  /^(data_dir|custom_definitions_path|audit\.file|traces\.ca_file|.*\.(embedded|auth\.(token|user)_file|(cert|key|chain)_file|logo_file|path|model_path))$/;

/**
 * One warning for each file with a secret or a certificate that cannot be read. They are read when they are needed, so a
 * start goes on without them.
 */
export async function unreadableFileWarnings(config: Config): Promise<string[]> {
  const warnings = new Map<string, string>();
  // as it is written
  const written = { ...config, state: config.state.database };
  for (const [path, file] of pathsIn(written, configSchema)) {
    const setting = formatPath(path);
    if (warnings.has(file) || lookedAtElsewhere.test(setting)) continue;
    const isFolder = setting === "metrics.ingest_folder" || setting === "models.library_path";
    const why = await whyUnusable(file, isFolder ? "kept folder" : "read file");
    if (why === missing) warnings.set(file, `${setting}: there is no file ${file}`);
    else if (why !== undefined) warnings.set(file, `${setting}: cannot use ${file}: ${why}`);
  }
  return [...warnings.values()];
}

const missing = "there is no such file";

async function whyUnusable(path: string, use: PathUse): Promise<string | undefined> {
  const wantsFolder = use.endsWith("folder");
  try {
    const info = await Deno.stat(path);
    if (wantsFolder && !info.isDirectory) return "it is a file; name a folder";
    if (!wantsFolder && info.isDirectory) return "it is a folder; name a file";
    if (!wantsFolder && !info.isFile) return "it is not a regular file; name one";
    if (use.startsWith("made") && !await may(path, constants.W_OK)) return mayNot("write to it");
    return await may(path, constants.R_OK) ? undefined : mayNot("read it");
  } catch (error) {
    if (error instanceof Deno.errors.PermissionDenied) return mayNot("look into its folder");
    if (use === "read file") return missing;
    return await whyNotMakeable(path, use);
  }
}

/** Why nothing can be made at a path at which there is nothing. */
async function whyNotMakeable(path: string, use: PathUse): Promise<string | undefined> {
  // not even root, whom the modes of these let
  if (/^\/(proc|sys)\//.test(path)) return "nothing can be made there; name another place";
  const above = await nearestAbove(path);
  if (use === "made file" && above.path !== dirname(path)) {
    return "its folder does not exist; make it, or name another place";
  }
  if (!above.isDirectory) return `${above.path} is a file; name another place`;
  if (use.startsWith("kept") || await may(above.path, constants.W_OK)) return undefined;
  return `this user may not write to ${above.path}; allow it, or name another place`;
}

async function nearestAbove(path: string): Promise<{ path: string; isDirectory: boolean }> {
  const folder = dirname(path);
  const info = await Deno.stat(folder).catch(() => undefined);
  if (info === undefined && folder !== path) return await nearestAbove(folder);
  return { path: folder, isDirectory: info?.isDirectory ?? false };
}

async function may(path: string, mode: number): Promise<boolean> {
  return await access(path, mode).then(() => true, () => false);
}

function mayNot(what: string): string {
  return `this user may not ${what}; give it to this user with chown or chmod, or name another place`;
}

/** Whether there is nothing to read. */
export function namesNothing({ databases, pipelines }: Config): boolean {
  return databases.length + pipelines.length === 0;
}

/**
 * Refuses an empty configuration file where nothing else names what there is to read.
 * @throws {ConfigError}
 */
export async function refuseEmptyFile(path: string | undefined, config: Config): Promise<void> {
  if (path === undefined || !namesNothing(config)) return;
  const isEmpty = await readRegularFile(path).then((text) => text.trim() === "", () => false);
  if (!isEmpty) return;
  const message = "it is empty; -init writes one, and config.example.yaml has every setting";
  throw new ConfigError([{ path: "", message }], path);
}
