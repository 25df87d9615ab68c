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
  chain_file: filePath().optional().describe("Intermediate certificates, PEM, sent after the certificate"),
});

const auth = section({
  enabled: toggle().prefault(true).describe("Require a token on every request"),
  token_file: filePath().prefault("tokens.yaml").describe(
    "File of API tokens, beside the configuration file; made on the first write",
  ),
  user_file: filePath().prefault("users.yaml").describe(
    "File of user accounts, beside the configuration file",
  ),
  session_lifetime: duration().prefault("24h").describe("How long a login lasts"),
  password_min_length: integer(1, longestPasswordBytes).prefault(12).describe(
    "Shortest password that a user may be given",
  ),
  rate_limit_window_minutes: integer(1).prefault(15).describe(
    "Window in which failed attempts of an address count",
  ),
  rate_limit_max_attempts: integer(1).prefault(10).describe("Failed attempts per address in that window"),
  max_failed_attempts_before_lockout: integer(0).prefault(0)
    .describe("Consecutive failures that disable an account; 0: never"),
});

const clientIp = section({
  header: choice(...clientHeaders).optional()
    .describe("Header in which a reverse proxy names the client"),
  trusted_proxies: list(addressBlock()).prefault([])
    .describe("Proxies whose header is believed: addresses or CIDR blocks"),
});

/** The tool server's listener. */
export const http = section({
  enabled: toggle().prefault(false).describe(
    "Run the tool server; without it, MCP over standard input and output",
  ),
  address: address().prefault(":8080").describe("Address to listen on; without a host, every interface"),
  tls: tls.prefault({}),
  auth: auth.prefault({}),
  client_ip: clientIp.prefault({}),
  allowed_origins: list(origin()).prefault([]).describe(
    "Web origins other than the server's own that may call it",
  ),
  allowed_hosts: list(hostName()).prefault([]).describe("Host names under which the server may be called"),
});

export type HttpConfig = z.output<typeof http>;
