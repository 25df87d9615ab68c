import { join, resolve } from "node:path";
import { ConfigError, type Fault } from "./fault.ts";
import { configVariable } from "./environment_variables.ts";

const systemConfigPath = "/etc/postern/config.yaml";

interface FindOptions {
  /** From `-config`. */
  readonly configPath?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  /** The executable's folder, or the working folder when run by Deno. */
  readonly executableDir: string;
  /** Rejects with `Deno.errors.NotFound` where there is no such file. */
  readonly readFile: (path: string) => Promise<string>;
}

/**
 * Reads the configuration file: `-config`, else `POSTERN_CONFIG`, else the system's, else the one beside the
 * executable. Undefined where neither of the last two exists.
 *
 * @throws {ConfigError} where a file that was named does not exist, or one that exists cannot be read
 */
export async function readConfigFile(
  options: FindOptions,
): Promise<{ path: string; text: string } | undefined> {
  const named = namedFile(options);
  const candidates = named === undefined
    ? [systemConfigPath, join(options.executableDir, "config.yaml")]
    : [resolve(options.cwd, named.path)];
  for (const path of candidates) {
    try {
      return { path, text: await options.readFile(path) };
    } catch (error) {
      const missing = error instanceof Deno.errors.NotFound;
      if (missing && named === undefined) continue;
      throw new ConfigError([{ path: "", ...named?.origin, message: reasonOf(error) }], path);
    }
  }
  return undefined;
}

function reasonOf(error: unknown): string {
  if (error instanceof Deno.errors.NotFound) return "there is no such file";
  if (error instanceof Deno.errors.IsADirectory) return "it is a folder; name the file in it";
  if (error instanceof Deno.errors.PermissionDenied) return "this user may not read it";
  return error instanceof Error ? error.message : String(error);
}

function namedFile({ configPath, env }: FindOptions): { path: string; origin: Partial<Fault> } | undefined {
  if (configPath !== undefined) return { path: configPath, origin: { flag: "-config" } };
  const path = env[configVariable];
  return path ? { path, origin: { variable: configVariable } } : undefined;
}
