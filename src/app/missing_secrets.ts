import type { Config } from "../config/mod.ts";

/**
 * One warning for each file with a secret of PostgreSQL's or an issuer's that is not there. It is read when it is needed, so
 * a start goes on without it.
 */
export async function missingSecretWarnings(
  { databases, pipelines, http, server }: Config,
): Promise<string[]> {
  const files = [
    ...databases.map((each, at) => [`databases[${at}].password_file`, each.password_file]),
    ...pipelines.map(({ database }, at) => [
      `pipelines[${at}].database.password_file`,
      database.password_file,
    ]),
    ...[["http", http.auth] as const, ["server", server.auth] as const].map((
      [name, { identity_provider }],
    ) => [
      `${name}.auth.identity_provider.introspection.client_secret_file`,
      identity_provider?.introspection?.client_secret_file,
    ]),
  ];
  const warnings = new Map<string, string>();
  for (const [setting, path] of files) {
    if (path === undefined || warnings.has(path)) continue;
    const isMissing = await Deno.stat(path).then(
      () => false,
      (error) => error instanceof Deno.errors.NotFound,
    );
    if (isMissing) warnings.set(path, `${setting}: there is no file ${path}`);
  }
  return [...warnings.values()];
}
