import type { z } from "zod";
import { longestPasswordBytes } from "../../identity/users/password_limits.ts";
import { identityProvider } from "./identity_provider.ts";
import { duration, filePath, integer, section, toggle } from "./field_types.ts";
import { methods } from "./oauth.ts";

/**
 * How a server tells who is calling: the same settings for both. What `server.auth` leaves out, but for `enabled`, is as
 * in `http.auth` (config.ts).
 */
export const auth = (defaults: { readonly enabled: boolean }) =>
  section({
    enabled: toggle().prefault(defaults.enabled).describe(
      "Require a token on every request but probes and a login",
    ),
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
    identity_provider: identityProvider.optional(),
    methods: methods.prefault({}),
  });

export type AuthConfig = z.output<ReturnType<typeof auth>>;
