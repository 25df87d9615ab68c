import { list, text, textMap, toggle } from "./field_types.ts";

const meanings = {
  roleFromUser: "Run statements under the PostgreSQL role that has the caller's name",
  sessionSettings:
    "PostgreSQL settings for each statement; {username} stands for the caller's name, {claim:NAME} for a claim of the caller's token, {claims} for all of them as JSON",
};

const fromClaims = {
  role_from_claim: text().optional().describe(
    "Run statements under the PostgreSQL role that this claim of the caller's token names",
  ),
  allowed_roles: list(text()).optional().describe("Roles that role_from_claim may name"),
};

/** What tells the row-level security of a database who asks. */
export const databaseRowSecurity = {
  role_from_user: toggle().prefault(false).describe(meanings.roleFromUser),
  ...fromClaims,
  session_settings: textMap().prefault({}).describe(meanings.sessionSettings),
};

/** The same of a pipeline, whose settings have their defaults elsewhere. */
export const pipelineRowSecurity = {
  role_from_user: toggle().optional().describe(meanings.roleFromUser),
  ...fromClaims,
  session_settings: textMap().optional().describe(meanings.sessionSettings),
};
