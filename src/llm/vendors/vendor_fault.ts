import { faultOfStatus } from "../transport/classify_status.ts";
import { ProviderError, type ProviderFault } from "../provider_error.ts";

// Anthropic's and OpenAI's error types and codes, and Google's status names
const faults = new Map<string, ProviderFault>([
  ["authentication_error", "credentials"],
  ["permission_error", "credentials"],
  ["billing_error", "credentials"],
  ["invalid_api_key", "credentials"],
  ["UNAUTHENTICATED", "credentials"],
  ["PERMISSION_DENIED", "credentials"],
  ["rate_limit_error", "rate_limit"],
  ["rate_limit_exceeded", "rate_limit"],
  ["insufficient_quota", "rate_limit"],
  ["RESOURCE_EXHAUSTED", "rate_limit"],
  ["invalid_request_error", "invalid_request"],
  ["request_too_large", "invalid_request"],
  ["not_found_error", "invalid_request"],
  ["INVALID_ARGUMENT", "invalid_request"],
  ["FAILED_PRECONDITION", "invalid_request"],
  ["NOT_FOUND", "invalid_request"],
  ["timeout_error", "timeout"],
  ["DEADLINE_EXCEEDED", "timeout"],
]);

/**
 * The error that a vendor writes into a stream or a reply whose status was 200; `provider` where it bears no
 * known name. The vendor's sentence goes into the detail as it is.
 * @param names the error's type, code or status; a number is an HTTP status
 */
export function vendorFault(
  message: string | null | undefined,
  ...names: readonly (string | number | null | undefined)[]
): ProviderError {
  const given = names.filter((name) => name !== undefined && name !== null);
  const fault = given.map(faultOfName).find((known) => known !== undefined) ?? "provider";
  return new ProviderError(
    fault,
    `an error within the reply: ${[...given, message ?? ""].join(" ").slice(0, 500)}`,
  );
}

function faultOfName(name: string | number): ProviderFault | undefined {
  if (typeof name === "string") return faults.get(name);
  return name >= 400 && name < 600 ? faultOfStatus(name) : undefined;
}
