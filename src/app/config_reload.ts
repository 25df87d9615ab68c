import { changedAtStartOnly, type Config, type LoadedConfig } from "../config/mod.ts";
import { AppError } from "../core/app_error.ts";
import type { Logger } from "../core/logger.ts";
import { readRegularFile } from "../core/files/read_regular_file.ts";
import type { FileWatch, Look, WatchedFiles } from "../core/files/watch_files.ts";

/** Loads the configuration again. */
export interface ConfigSource {
  readonly path: string;
  readonly load: () => Promise<LoadedConfig>;
}

interface ConfigReloadOptions {
  readonly config: Config;
  readonly source: ConfigSource;
  /**
   * Each prepares what it needs for a new configuration, and returns the function that puts it in force; undefined if
   * nothing changes. If one throws, none is put in force.
   */
  readonly servers: readonly ApplyConfig[];
  readonly files: FileWatch;
  /** Told of each time that the configuration was loaded, and whether it is in force. */
  readonly onReload: (result: "ok" | "failed") => void;
  readonly logger: Logger;
}

export type ApplyConfig = (next: Config) => Promise<(() => void) | undefined>;

/**
 * Loads the configuration again when its file changes, and when it is asked to. One that does not load changes nothing.
 */
export async function watchConfig(options: ConfigReloadOptions): Promise<WatchedFiles> {
  const { source: { path, load }, servers, files, onReload, logger } = options;
  const settings = JSON.stringify;
  let current = settings(options.config);
  let notInForce = "";
  let failed = false;
  let mayBeEmpty: boolean | undefined;

  async function reload({ asked, isCurrent }: Look): Promise<void> {
    try {
      const text = await readRegularFile(path).catch((cause) => {
        if (!(cause instanceof Deno.errors.NotFound)) throw cause;
        throw new AppError("not_found", `Cannot read ${path}: there is no such file`, { cause });
      });
      const isEmpty = text.trim() === "";
      mayBeEmpty ??= isEmpty;
      // a file that is being written over is empty for a moment; one that the start took may stay so
      if (isEmpty && !mayBeEmpty) throw new AppError("invalid", `Cannot use ${path}: it is empty`);
      const { config, warnings } = await load();
      if (!await isCurrent()) return;
      if (settings(config) === current && !failed && !asked) return;
      const puts = await Promise.all(servers.map((prepare) => prepare(config)));
      for (const put of puts) put?.();
      const changed = settings(config) !== current;
      current = settings(config);
      failed = false;
      if (changed) { for (const warning of warnings) logger.warn(warning); }
      warnOfRest(config, asked);
      logger.info(`Reloaded ${path}`);
      onReload("ok");
    } catch (error) {
      failed = true;
      onReload("failed");
      logger.error(`Failed to reload ${path}; the current settings stay in force`, { error });
    }
  }

  function warnOfRest(config: Config, asked: boolean): void {
    const names = changedAtStartOnly(options.config, config).join(", ");
    if (names !== "" && (asked || names !== notInForce)) {
      logger.warn(`${path}: restart the server to apply the changes in ${names}`);
    }
    notInForce = names;
  }

  return await files.watch({ paths: [path], onChange: reload });
}
