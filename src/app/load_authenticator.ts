import { type Authenticator, createAuthenticator } from "../auth/authenticator.ts";
import { readableByOthers } from "../auth/credential_file.ts";
import { readTokenFile } from "../auth/token_file.ts";
import { createTokenIndex } from "../auth/token_index.ts";
import { createToken } from "../auth/tokens.ts";
import type { Logger } from "../core/logger.ts";

/**
 * Lets in the tokens of a file, and logs what is wrong with its entries or its mode.
 * @throws {AppError} `invalid`, with the line, for a file that does not parse
 */
export async function authenticatorOfFile(path: string, logger: Logger): Promise<Authenticator> {
  const { records, faults } = await readTokenFile(path);
  for (const { message } of faults) logger.warn(message);
  const warning = await readableByOthers(path);
  if (warning !== undefined) logger.warn(warning);
  if (records.length === 0) logger.warn("No token lets anyone in yet; -add-token makes one", { file: path });
  return createAuthenticator({ tokens: createTokenIndex(records), now: Date.now });
}

/** Lets in one token that is in no file. */
export function authenticatorOfOneToken(): { token: string; authenticator: Authenticator } {
  const { token, record } = createToken({ id: "demo", expiry: "never", now: Date.now() });
  return { token, authenticator: createAuthenticator({ tokens: createTokenIndex([record]), now: Date.now }) };
}
