import {
  type ApiKey,
  type ApiKeyOptions,
  type ApiKeySources,
  missingKeyWarning,
  openApiKey,
} from "./api_key.ts";

export interface ProviderKeySources {
  /** What the provider's own section of the configuration names. */
  readonly own: ApiKeySources;
  /** What the configuration and the environment have for its kind. */
  readonly ofKind: ApiKeySources;
  /** Where the provider is. */
  readonly address: string;
  /** Whose key that of the kind is. */
  readonly kindAddresses: readonly string[];
}

export interface KeyedProvider {
  readonly kind: string;
  /** As configured; undefined: the vendor's own. */
  readonly baseUrl: string | undefined;
  readonly sources: ProviderKeySources;
}

/**
 * Opens a provider's key, and logs what is odd about it. A secret is never sent to whom it was not given for: the kind's
 * key goes to the origins of the kind's addresses alone, any other gets the key that its own section names.
 */
export async function openProviderKey(
  { kind, baseUrl, sources }: KeyedProvider,
  options: ApiKeyOptions,
): Promise<ApiKey> {
  const { own, ofKind, address, kindAddresses } = sources;
  const hasOwn = own.text !== undefined || own.file !== undefined;
  const isKinds = kindAddresses.some((other) => originOf(other) === originOf(address));
  const key = await openApiKey(hasOwn ? own : isKinds ? ofKind : {}, options);
  const missing = missingKeyWarning(kind, baseUrl, key);
  const { logger } = options;
  if (!hasOwn && !isKinds && isSomeKeyIn(ofKind)) {
    const notice =
      `The fallback ${kind} at ${originOf(address)} is sent no key: the one for ${kind} is for another ` +
      "address, and api_key_file of the fallback names none";
    if (missing === undefined) logger.info(notice);
    else logger.warn(notice);
  } else if (missing !== undefined) logger.warn(missing);
  return key;
}

/** A file in the home folder need not be there. */
function isSomeKeyIn({ text, file, environment }: ApiKeySources): boolean {
  return [text, file, environment].some((source) => source !== undefined);
}

function originOf(address: string): string {
  return URL.canParse(address) ? new URL(address).origin : address;
}
