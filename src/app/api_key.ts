import { openFileWarning } from "../core/files/file_access.ts";
import { readRegularFile } from "../core/files/read_regular_file.ts";
import type { FileWatch, Look } from "../core/files/watch_files.ts";
import type { Logger } from "../core/logger.ts";

/** Where a provider's key may be; the first that holds one counts. */
export interface ApiKeySources {
  readonly text?: string | undefined;
  /** Named by the configuration, so it should be there. */
  readonly file?: string | undefined;
  readonly environment?: string | undefined;
  /** In the home folder; need not be there. */
  readonly homeFile?: string | undefined;
}

/** A provider's key as it is now. */
export interface ApiKey extends AsyncDisposable {
  read(): string | undefined;
}

export interface ApiKeyOptions {
  readonly files: FileWatch;
  readonly logger: Logger;
}

/** Reads a key, and reads it again when its file changes; a file that cannot be read leaves the key as it was. */
export async function openApiKey(sources: ApiKeySources, options: ApiKeyOptions): Promise<ApiKey> {
  if (sources.text !== undefined) return fixedKey(sources.text);
  if (sources.file !== undefined) return await openKeyFile(sources.file, { ...options, isExpected: true });
  if (sources.environment !== undefined) return fixedKey(sources.environment);
  if (sources.homeFile === undefined) return fixedKey(undefined);
  return await openKeyFile(sources.homeFile, { ...options, isExpected: false });
}

/** Says at the start what would otherwise be known at the first request; undefined where a key is there or not needed. */
export function missingKeyWarning(
  kind: string,
  baseUrl: string | undefined,
  key: ApiKey,
): string | undefined {
  const isOptional = kind === "ollama" || kind === "local" ||
    ((kind === "openai" || kind === "cohere") && baseUrl !== undefined);
  if (isOptional || key.read() !== undefined) return undefined;
  return `No key for ${kind}: looked in the configuration, in ${kind.toUpperCase()}_API_KEY and in ~/.${kind}-api-key`;
}

/** What keeps a text from being sent in a header; undefined where nothing does. */
function keyFault(text: string): string | undefined {
  if (text === "") return "it is empty";
  return /^[\x21-\x7e]+$/.test(text) ? undefined : "expected one line of printable ASCII without blanks";
}

function fixedKey(key: string | undefined): ApiKey {
  return { read: () => key, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function openKeyFile(path: string, options: ApiKeyOptions & { isExpected: boolean }): Promise<ApiKey> {
  const { files, logger, isExpected } = options;
  let key: string | undefined;
  const watch = await files.watch({ paths: [path], onChange: load });

  async function load({ isCurrent }: Look): Promise<void> {
    try {
      const text = (await readRegularFile(path)).trim();
      if (!await isCurrent()) return;
      const fault = keyFault(text);
      if (fault !== undefined) {
        logger.warn(`Cannot use the key file ${path}: ${fault}`);
        return;
      }
      if (text === key) return;
      if (key !== undefined) logger.info(`Reloaded ${path}`);
      key = text;
    } catch (error) {
      if (!isExpected && error instanceof Deno.errors.NotFound) return;
      logger.warn(`Cannot read the key file ${path}`, { error });
      return;
    }
    const warning = await openFileWarning(path, { rootMayShareWithGroup: true });
    if (warning !== undefined) logger.warn(warning);
  }

  return { read: () => key, [Symbol.asyncDispose]: () => watch.end() };
}
