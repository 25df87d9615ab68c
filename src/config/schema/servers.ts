import { clientHeaders } from "../../http/client_header_kinds.ts";
import { auth, login, oauth } from "./auth.ts";
import {
  address,
  addressBlock,
  choice,
  filePath,
  hostName,
  integer,
  list,
  origin,
  resourceUrl,
  section,
  text,
  timeout,
  toggle,
} from "./field_types.ts";

/** HTTPS, of either server. */
const tlsFiles = {
  enabled: toggle().prefault(false).describe("Serve HTTPS"),
  cert_file: filePath().optional().describe("Certificate, PEM"),
  key_file: filePath().optional().describe("Private key of the certificate, PEM"),
};

const tls = section({
  ...tlsFiles,
  chain_file: filePath().optional().describe(
    "Intermediate certificates, PEM; the server sends them after its own",
  ),
});

/** Where to find the client's address behind a reverse proxy. */
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
  resource_url: resourceUrl().optional().describe(
    "What clients call, such as https://tools.example.com/mcp/v1; without it, what a request names",
  ),
  auth: auth({ enabled: true }).extend({ oauth: oauth.extend({ login }).prefault({}) }).prefault({}),
  client_ip: clientIp.prefault({}),
  allowed_origins: list(origin()).prefault([]).describe(
    "Web origins, besides the server's own, whose pages may call it",
  ),
  allowed_hosts: list(hostName()).prefault([]).describe(
    "Names that a request's Host may have, besides the server's own",
  ),
});

/** The RAG server's listener. */
export const server = section({
  address: address().prefault("0.0.0.0:8080").describe("Address to listen on; port 0: any free port"),
  allowed_hosts: list(hostName()).prefault([]).describe(
    "Names that a request's Host may have, besides the server's own; list a proxy's name if the proxy keeps Host",
  ),
  request_timeout: timeout().prefault("120s").describe("How long a query may take"),
  resource_url: resourceUrl().optional().describe(
    "What clients call, such as https://rag.example.com/v1; without it, what a request names",
  ),
  max_queries: integer(1, 1_000_000).prefault(100).describe("Queries that a pipeline answers at once"),
  openai_api: section({
    enabled: toggle().prefault(false).describe("Let clients of OpenAI's API ask pipelines, as models"),
  }).prefault({}),
  tls: section(tlsFiles).prefault({}),
  auth: auth({ enabled: false }).prefault({}),
  client_ip: clientIp.prefault({}),
  cors: section({
    enabled: toggle().prefault(false).describe("Let web pages of other origins call the server (CORS)"),
    allowed_origins: list(text()).prefault([]).describe('Those origins; "*" allows all'),
  }).prefault({}),
});
