/** How an issuer may sign its access tokens (RFC 7518 section 3.1, RFC 8037): with a key pair, never with a shared secret. */
export const tokenAlgorithms = ["RS256", "PS256", "ES256", "EdDSA"] as const;

export type TokenAlgorithm = (typeof tokenAlgorithms)[number];
