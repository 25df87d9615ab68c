const maxRequests = 50;
/** UTF-16 units of the JSON. A statement of the longest may take a second to check, and so five of them. */
const maxCharacters = 500_000;

/** Why a batch is not answered; undefined for one that is, and for what is no batch. */
export function findBatchFault(message: unknown, characters: number): string | undefined {
  if (!Array.isArray(message)) return undefined;
  if (message.length === 0 || message.length > maxRequests) {
    return `a batch holds 1 to ${maxRequests} requests`;
  }
  return characters > maxCharacters
    ? `a batch has at most ${maxCharacters} characters; send its requests one by one`
    : undefined;
}
