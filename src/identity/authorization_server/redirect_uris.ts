import { isLoopback } from "../../core/address.ts";

/** Says whether a login may lead back to an address. */
export type RedirectRule = (uri: string) => boolean;

/**
 * Allows what is listed, character by character; of a loopback address the port may differ (RFC 8252, section 7.3). The
 * page `/oauth/callback` of the server itself, and of each web origin that may call it, needs no entry.
 */
export function createRedirectRule(options: {
  readonly allowed: readonly string[];
  readonly issuer: string;
  readonly origins: readonly string[];
}): RedirectRule {
  const own = [options.issuer, ...options.origins].map((base) => `${base.replace(/\/$/, "")}/oauth/callback`);
  const listed = new Set([...options.allowed, ...own]);
  const loopback = new Set([...listed].flatMap((uri) => withoutLoopbackPort(uri) ?? []));
  return (uri) => {
    if (listed.has(uri)) return true;
    const bare = withoutLoopbackPort(uri);
    return bare !== undefined && loopback.has(bare);
  };
}

/** Undefined for what is no plain URL of loopback. */
function withoutLoopbackPort(uri: string): string | undefined {
  const [, host = "", rest = ""] =
    /^http:\/\/(localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?(\/[^#\\\s]*)?$/.exec(uri) ??
      [];
  return host === "" ? undefined : `http://${host}${rest}`;
}

/** Whether every address is of an app on the user's own machine, which may then use any port (RFC 8252). */
export function isNativeClient(uris: readonly string[]): boolean {
  return uris.length > 0 && uris.every((uri) => {
    const url = URL.parse(uri);
    return url !== null && !(url.protocol === "https:" && isLoopback(url.hostname.replace(/^\[|\]$/g, "")));
  });
}
