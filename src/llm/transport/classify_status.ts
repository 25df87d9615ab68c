import type { ProviderFault } from "../provider_error.ts";

const faults: Readonly<Record<number, ProviderFault>> = {
  401: "credentials",
  // the account behind the key has run dry: the operator's to mend, like a key
  402: "credentials",
  403: "credentials",
  // a model's name that the vendor does not know, far more often than a wrong base URL; both are in our request
  404: "invalid_request",
  // the address exists and does not do this
  405: "unsupported",
  407: "credentials",
  408: "timeout",
  // a lock that the vendor holds for a moment
  409: "provider",
  425: "provider",
  429: "rate_limit",
  501: "unsupported",
};

const passing = new Set([408, 409, 425, 429]);

/**
 * What a reply's status says went wrong.
 * @param status any that is no success; redirects too, which are never followed with a key in the headers
 */
export function faultOfStatus(status: number): ProviderFault {
  return faults[status] ?? (status >= 400 && status < 500 ? "invalid_request" : "provider");
}

/** Whether the same request may fare better in a moment. */
export function isPassingStatus(status: number): boolean {
  return passing.has(status) || (status >= 500 && status !== 501);
}
