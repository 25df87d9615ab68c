import { randomBytes } from "node:crypto";
import { AppError } from "../../core/app_error.ts";
import { fetchJson } from "../../identity/issuer/fetch_json.ts";
import { introspect } from "../../identity/issuer/introspection.ts";
import type { IssuerOptions } from "../../identity/issuer/issuer.ts";
import { createMetadata } from "../../identity/issuer/issuer_metadata.ts";
import { usableAlgorithms } from "../../identity/issuer/key_set.ts";
import { type Check, type CheckResult, createCheck, error, note } from "./check.ts";

/** An issuer as the configuration has it. */
export type DoctorIssuer = Pick<IssuerOptions, "issuer" | "algorithms" | "jwksUri" | "introspection">;

/** Whether an issuer can be reached, has keys for the algorithms, and answers about opaque tokens. */
export function issuerCheck(settings: DoctorIssuer): Check {
  const { issuer, algorithms, introspection } = settings;
  const metadata = createMetadata(settings);
  return createCheck(`issuer ${issuer}`, async (signal) => {
    try {
      const keys = await fetchJson(await metadata.jwksUri.find(signal), signal);
      const found = note(`keys for ${usableAlgorithms(keys, algorithms).join(", ")}`);
      if (introspection === undefined) return [found];
      return [found, { name: `introspection by ${issuer}`, run: askAboutNothing }];
    } catch (thrown) {
      return [mend(thrown, "issuer, jwks_uri and algorithms")];
    }
  });

  async function askAboutNothing(signal: AbortSignal): Promise<CheckResult[]> {
    if (introspection === undefined) return [];
    const nobodys = `doctor-${randomBytes(16).toString("hex")}`;
    try {
      const endpoint = await metadata.introspectionEndpoint.find(signal);
      const claims = await introspect(nobodys, introspection, endpoint, signal);
      return claims === undefined
        ? []
        : [error("It calls a token active that nobody has", "-- Correct endpoint of introspection")];
    } catch (thrown) {
      return [mend(thrown, "endpoint, client_id and client_secret_file of introspection")];
    }
  }
}

function mend(thrown: unknown, settings: string): CheckResult {
  if (!(thrown instanceof AppError)) throw thrown;
  return error(
    thrown.message,
    `-- Correct ${settings} of identity_provider, and check that this machine reaches the issuer`,
  );
}
