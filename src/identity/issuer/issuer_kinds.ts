/** How an issuer may sign its access tokens (RFC 7518 section 3.1, RFC 8037): with a key pair, never with a shared secret. */
export const tokenAlgorithms = ["RS256", "PS256", "ES256", "EdDSA"] as const;

/** The types that an access token may say it is of; `JWT` stands for one that says no other (RFC 7519 section 5.1), too. */
export const tokenTypes = ["at+jwt", "JWT"] as const;

export type TokenType = (typeof tokenTypes)[number];

export type TokenAlgorithm = (typeof tokenAlgorithms)[number];
