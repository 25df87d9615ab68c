import { redactText } from "../core/text/redact.ts";

/** What stands in the header of requests and replies that names a request. */
export const requestIdHeader = "x-request-id";

/** Ids of others' making: UUIDs, ULIDs, those of load balancers (`Root=1-67891233-…`), and the like. */
const acceptable = /^[\w.:=+/@-]{1,128}$/;

/**
 * Makes the function that names requests: by the id that the client or a proxy gave, where it is short, plain and does not
 * look like a secret, else by one that no other process's requests have.
 */
export function createRequestIds(): (request: Request) => string {
  const prefix = crypto.randomUUID().slice(0, 8);
  let last = 0;
  return ({ headers }) => {
    const given = headers.get(requestIdHeader);
    if (given !== null && acceptable.test(given) && redactText(given) === given) return given;
    return `${prefix}-${(++last).toString(36)}`;
  };
}
