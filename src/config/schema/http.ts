import type { z } from "zod";
import { clientHeaders } from "../../http/client_header_kinds.ts";
import { longestPasswordBytes } from "../../identity/users/password_limits.ts";
import {
  address,
  addressBlock,
  choice,
  duration,
  filePath,
  hostName,
  integer,
  list,
  origin,
  section,
  toggle,
} from "./field_types.ts";

const tls = section({
  enabled: toggle().prefault(false).describe("Serve HTTPS"),
  cert_file: filePath().optional().describe("Certificate, PEM"),
  key_file: filePath().optional().describe("Private key of the certificate, PEM"),
  chain_file: filePath().optional().describe(
    "Intermediate certificates, PEM; the server sends them after its own",
  ),
});

const auth = section({
  enabled: toggle().prefault(true).describe("Require a token on every request but a login"),
  token_file: filePath().prefault("tokens.yaml").describe(
    "File of API tokens; Postern makes it when it first writes a token",
  ),
  user_file: filePath().prefault("users.yaml").describe(
    "File of user accounts",
  ),
  session_lifetime: duration().prefault("24h").describe("How long a session lasts"),
  password_min_length: integer(1, longestPasswordBytes).prefault(12).describe(
    "Least number of characters of a password",
  ),
  rate_limit_window_minutes: integer(1).prefault(15).describe(
    "Minutes for which a failed login of an address counts",
  ),
  rate_limit_max_attempts: integer(1).prefault(10).describe(
    "Failed logins that an address may have in that time",
  ),
  max_failed_attempts_before_lockout: integer(0).prefault(0)
    .describe("Failed logins in a row that lock an account; 0: never"),
});

const clientIp = section({
  header: choice(...clientHeaders).optional()
    .describe("Header in which a reverse proxy names the client"),
  trusted_proxies: list(addressBlock()).prefault([])
    .describe("Proxies whose header Postern trusts: addresses or CIDR blocks"),
});

/** The tool server's listener. */
export const http = section({
  enabled: toggle().prefault(false).describe(
    "Run the tool server over HTTP; if false, MCP over standard input and output",
  ),
  address: address().prefault(":8080").describe("Address to listen on; without a host, all interfaces"),
  tls: tls.prefault({}),
  auth: auth.prefault({}),
  client_ip: clientIp.prefault({}),
  allowed_origins: list(origin()).prefault([]).describe(
    "Web origins, besides the server's own, whose pages may call it",
  ),
  allowed_hosts: list(hostName()).prefault([]).describe(
    "Names that a request's Host may have, besides the server's own",
  ),
});

export type HttpConfig = z.output<typeof http>;
