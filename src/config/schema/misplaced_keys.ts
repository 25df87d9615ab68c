const ofDefinitions = "definitions stand in a file of their own, which custom_definitions_path names";

/**
 * Keys by where somebody writes them who knows them from the other listener or from another of Postern's files, with what
 * to write instead.
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
  "tokens": "API tokens stand in a file of their own, which http.auth.token_file names",
  "users": "users stand in a file of their own, which http.auth.user_file names",
  "tools": `${ofDefinitions}. Built-in tools: builtins.tools`,
  "prompts": `${ofDefinitions}. Built-in prompts: builtins.prompts`,
  "resources": `${ofDefinitions}. Built-in resources: builtins.resources`,
  "questions": ofDefinitions,
  "models": ofDefinitions,
};
