import { z } from "zod";
import { tokenAlgorithms, tokenTypes } from "../../identity/issuer/issuer_kinds.ts";
import {
  choice,
  filePath,
  issuerAddress,
  issuerUrl,
  list,
  scope,
  section,
  text,
  toggle,
} from "./field_types.ts";

/** An issuer elsewhere, whose access tokens let callers in. */
export const identityProvider = section({
  issuer: issuerUrl().describe("Issuer of the tokens, as their `iss` has it to the letter"),
  audience: text().describe("What a token's `aud` must hold, such as `resource_url`"),
  jwks_uri: issuerAddress().optional().describe(
    "Address of the issuer's keys; without it, Postern asks the issuer",
  ),
  algorithms: list(choice(...tokenAlgorithms)).optional().describe(
    "How tokens may be signed: RS256, PS256, ES256, EdDSA; without it, in each of these ways",
  ),
  token_types: list(choice(...tokenTypes)).optional().describe(
    "Types of JWT that are taken: at+jwt; JWT for issuers that write no type of their own; without it, at+jwt alone",
  ),
  username_claim: text().optional().describe(
    "Claim that holds the user's name; without it, `preferred_username`",
  ),
  groups_claim: text().optional().describe(
    "Claim that holds the names of the user's groups, for `group:NAME` in `available_to_users`; without it, none",
  ),
  trust_names: toggle().optional().describe(
    "Give a user the rights of the account that has the same name; without it, false",
  ),
  listed_first: toggle().optional().describe(
    "Tell clients of this issuer before the built-in authorization server; they take the first. Without it, true",
  ),
  required_scopes: list(scope()).optional().describe(
    "Scopes that every request with a token of the issuer needs",
  ),
  scopes_by_tool: z.record(z.string(), list(scope()), {
    error: "expected a mapping of tools to lists of scopes",
  }).optional().describe("Further scopes that calls of a tool need, by the tool's name"),
  introspection: section({
    client_id: text().describe("Name under which the issuer knows Postern"),
    client_secret_file: filePath().describe("File that holds the secret of that name"),
    endpoint: issuerAddress().optional().describe(
      "Address that Postern asks; without it, the one that the issuer tells",
    ),
  }).optional().describe(
    "Ask the issuer about tokens that are no JWT (RFC 7662); without it, they are refused",
  ),
});
