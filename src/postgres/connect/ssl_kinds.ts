/** PostgreSQL's six values, with libpq's meaning (PostgreSQL manual, "SSL Support", table "SSL Mode Descriptions"). */
export const sslModes = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;

export type SslMode = (typeof sslModes)[number];

/** How one connection attempt treats TLS; `preferred` goes on in plain text where the server has no TLS. */
export type Encryption = "none" | "preferred" | "required";

/** What of the server's certificate is checked. */
export type Verification = "nothing" | "chain" | "chain and name";

/** The attempts that libpq makes for a mode; over a Unix socket it never uses TLS. */
export function encryptionPlan(mode: SslMode, overUnixSocket: boolean): {
  readonly first: Encryption;
  /** A second attempt at the same server, after an error that libpq answers with one. */
  readonly retry?: Encryption;
} {
  if (overUnixSocket) return { first: "none" };
  switch (mode) {
    case "disable":
      return { first: "none" };
    case "allow":
      return { first: "none", retry: "required" };
    case "prefer":
      return { first: "preferred", retry: "none" };
    default:
      return { first: "required" };
  }
}

/**
 * What libpq checks for a mode. A root certificate file that exists makes it check the chain in the weaker modes too
 * (PostgreSQL manual, "Client Verification of Server Certificates").
 */
export function verificationFor(mode: SslMode, hasRootCertificate: boolean): Verification {
  if (mode === "verify-full") return "chain and name";
  return mode === "verify-ca" || hasRootCertificate ? "chain" : "nothing";
}
