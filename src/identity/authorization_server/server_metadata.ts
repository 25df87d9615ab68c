import { deviceGrant } from "./client_metadata.ts";
import { oauthScope } from "./request_parameters.ts";

/** Where it stands (RFC 8414, section 3). */
export const metadataPath = "/.well-known/oauth-authorization-server";

/** What clients read of the server before they begin (RFC 8414, section 2). */
export function serverMetadata({ issuer, allowRegistration, allowDocuments }: {
  readonly issuer: string;
  readonly allowRegistration: boolean;
  readonly allowDocuments: boolean;
}) {
  const address = (path: string) => `${issuer.replace(/\/$/, "")}/oauth/${path}`;
  return {
    issuer,
    authorization_endpoint: address("authorize"),
    token_endpoint: address("token"),
    ...(allowRegistration ? { registration_endpoint: address("register") } : {}),
    device_authorization_endpoint: address("device"),
    revocation_endpoint: address("revoke"),
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", deviceGrant],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [oauthScope],
    authorization_response_iss_parameter_supported: true,
    ...(allowDocuments ? { client_id_metadata_document_supported: true } : {}),
  };
}
