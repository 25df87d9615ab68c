import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { Buffer } from "node:buffer";
import { tokenPrefix } from "../presented_token.ts";
import type { CookieKeys } from "./cookie_keys.ts";

const pattern = new RegExp(String.raw`^(${tokenPrefix}([\w-]+)\.[\w-]+)\.([\w-]+)$`);
const randomByteCount = 32;
/** Enough of the signature: whoever guesses one can end a grant, and do nothing else. */
const signatureByteCount = 16;

/**
 * Refresh tokens that tell which grant they were given out for, `pst_GRANT.RANDOM.SIGNATURE`. So the second use of one
 * ends its grant (RFC 9700, section 4.14.2) when the store has forgotten it long ago, and the store need not keep all that
 * were used.
 *
 * @param keys those of the cookies: the first signs, and all are accepted
 */
export function createRefreshTokenValues(keys: Pick<CookieKeys, "secrets">) {
  const sign = (secret: string, text: string) =>
    createHmac("sha256", secret).update(`refresh token\0${text}`).digest().subarray(0, signatureByteCount)
      .toString("base64url");
  return {
    make(grantId: string): string {
      const text = `${tokenPrefix}${grantId}.${randomBytes(randomByteCount).toString("base64url")}`;
      return `${text}.${sign(keys.secrets[0] ?? "", text)}`;
    },
    /** The grant that a token was given out for; undefined for a text that is no token of this server. */
    grantOf(value: string): string | undefined {
      const [, text = "", grantId, given = ""] = pattern.exec(value) ?? [];
      // as texts, since several stand for the same bytes (RFC 4648 section 3.5)
      const isOurs = (secret: string) => {
        const signature = sign(secret, text);
        return given.length === signature.length &&
          timingSafeEqual(Buffer.from(given), Buffer.from(signature));
      };
      return keys.secrets.some(isOurs) ? grantId : undefined;
    },
  };
}

export type RefreshTokenValues = ReturnType<typeof createRefreshTokenValues>;
