import { openFileWarning } from "../../core/files/file_access.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import type { FileWatch, Look } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import { type ProviderKind, vendorAddresses } from "../../llm/provider_kinds.ts";

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
interface ApiKey extends AsyncDisposable {
  read(): string | undefined;
}

export interface ApiKeyOptions {
  readonly files: FileWatch;
  readonly logger: Logger;
}

/** Where a provider is, and where its key may be. */
export interface KeyedProvider {
  readonly kind: ProviderKind;
  /** As configured; undefined: the vendor's own. */
  readonly baseUrl: string | undefined;
  /** What the provider's own section of the configuration names. */
  readonly own: ApiKeySources;
  /** What the configuration and the environment have for its kind. */
  readonly ofKind: ApiKeySources;
  /** The addresses that the key of the kind is for. */
  readonly kindAddresses: readonly string[];
}

/**
 * Opens a provider's key, and logs what is odd about it. No key is sent to an address that it was not given for: the
 * kind's key goes to the origins of the kind's addresses alone, and any other provider gets the key that its own
 * section names.
 */
export async function openProviderKey(provider: KeyedProvider, options: ApiKeyOptions): Promise<ApiKey> {
  const { kind, baseUrl, own, ofKind, kindAddresses } = provider;
  const origin = originOf(baseUrl ?? vendorAddresses[kind]);
  const hasOwn = own.text !== undefined || own.file !== undefined;
  const isKinds = kindAddresses.some((other) => originOf(other) === origin);
  const key = await openApiKey(hasOwn ? own : isKinds ? ofKind : {}, options);
  const missing = missingKeyWarning(provider, key);
  const { logger } = options;
  if (!hasOwn && !isKinds && isSomeKeyIn(ofKind)) {
    const notice =
      `No key is sent to the fallback ${kind} at ${origin}: the key for ${kind} belongs to another address; set ` +
      "api_key_file of the fallback";
    if (missing === undefined) logger.info(notice);
    else logger.warn(notice);
  } else if (missing !== undefined) logger.warn(missing);
  return key;
}

/** Whether a key is named; the file in the home folder is not looked for. */
function isSomeKeyIn({ text, file, environment }: ApiKeySources): boolean {
  return [text, file, environment].some((source) => source !== undefined);
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}

/** The warning at the start that requests will fail without a key; undefined if a key is there or not needed. */
function missingKeyWarning({ kind, baseUrl }: KeyedProvider, key: ApiKey): string | undefined {
  const isOptional = kind === "ollama" || kind === "onnx" || kind === "local" ||
    ((kind === "openai" || kind === "cohere") && baseUrl !== undefined);
  if (isOptional || key.read() !== undefined) return undefined;
  return `No key for ${kind}: looked in the configuration, in ${kind.toUpperCase()}_API_KEY and in ` +
    `~/.${kind}-api-key`;
}

/** Reads a key, and reads it again when its file changes; a file that cannot be read leaves the key as it was. */
async function openApiKey(sources: ApiKeySources, options: ApiKeyOptions): Promise<ApiKey> {
  if (sources.text !== undefined) return fixedKey(sources.text);
  if (sources.file !== undefined) return await openKeyFile(sources.file, { ...options, isExpected: true });
  if (sources.environment !== undefined) return fixedKey(sources.environment);
  if (sources.homeFile === undefined) return fixedKey(undefined);
  return await openKeyFile(sources.homeFile, { ...options, isExpected: false });
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

/** Why a text cannot be sent in a header; undefined if it can. */
function keyFault(text: string): string | undefined {
  if (text === "") return "it is empty";
  return /^[\x21-\x7e]+$/.test(text) ? undefined : "expected one line of printable ASCII without blanks";
}
