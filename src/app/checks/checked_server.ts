import type { Config } from "../../config/mod.ts";
import { createFileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import { openCompletion, openEmbedding } from "../providers/open_providers.ts";
import { embeddingProvider, keyFilesOf, llmProviders } from "../providers/provider_settings.ts";
import type { DoctorServer } from "./all_checks.ts";
import type { DoctorIssuer } from "./issuer_checks.ts";
import type { TokenCheckSettings } from "./token_check.ts";
import { configurationChecks } from "./configuration_checks.ts";

/** What the doctor looks at of the servers besides databases and pipelines. */
export async function openDoctorServer(
  config: Config,
  logger: Logger,
): Promise<DoctorServer & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const files = opening.use(createFileWatch());
  const completion = await openCompletion({ config, files, logger });
  if (completion !== undefined) opening.use(completion);
  const embedding = openEmbedding({ config, files, logger });
  if (embedding !== undefined) opening.use(embedding);
  const ofTexts = embeddingProvider(config);
  const ofEmbedding = await embedding?.provider();
  const stack = opening.move();
  return {
    completions: completion?.completions ?? [],
    embedding: ofEmbedding,
    keyFiles: keyFilesOf([...llmProviders(config), ...(ofTexts === undefined ? [] : [ofTexts])]),
    configuration: configurationChecks(config, Date.now),
    excludedColumns: config.llm.excluded_columns,
    definitions: await definitionsOf(config),
    issuers: await configuredIssuers(config),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function definitionsOf(config: Config) {
  const path = config.custom_definitions_path;
  if (path === undefined) return undefined;
  const { usableDefinitions } = await import("../tool_server/definitions_file.ts");
  return await usableDefinitions(path, config);
}

/** The issuers whose tokens let callers in. What loads for them is loaded where there is one. */
export async function configuredIssuers(
  { http, server }: Config,
): Promise<(DoctorIssuer & TokenCheckSettings)[]> {
  const sections = [...(http.enabled ? [http.auth] : []), server.auth].filter(({ enabled }) => enabled);
  // both servers may have the same
  const providers = new Map(
    sections.map(({ identity_provider: provider }) => [JSON.stringify(provider), provider]),
  );
  const configured = [...providers.values()].filter((provider) => provider !== undefined);
  if (configured.length === 0) return [];
  const { issuerSettings } = await import("../open_issuer.ts");
  return configured.map(issuerSettings);
}
