/**
 * Keys that one of the two listeners has and the other has not, by where somebody who knows the one writes them for the
 * other, with what to write instead.
 */
export const misplacedKeys: Readonly<Record<string, string>> = {
  "server.auth.oauth":
    "the tool server has the authorization server: http.auth.oauth. The RAG server takes its tokens where both run in " +
    "one process (server.auth.methods.oauth), and those of an issuer elsewhere with server.auth.identity_provider",
  "server.enabled": "the flag -rag starts the RAG server",
  "server.allowed_origins": "on the RAG server it is server.cors.allowed_origins",
  "server.tls.chain_file":
    "on the RAG server the chain stands in server.tls.cert_file, behind the certificate",
  "http.cors": "on the tool server it is http.allowed_origins",
};
