import { withDeadline } from "../core/async/deadline.ts";
import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "../llm/provider.ts";
import { ProviderError } from "../llm/provider_error.ts";
import type { Database } from "../postgres/database.ts";
import { type Check, type NamedResult, runChecks } from "../rag_server/checks/check.ts";
import { tableCheck } from "../rag_server/checks/table_check.ts";
import type { SearchedTableSettings } from "../rag_server/search/searched_table.ts";
import { databaseCheck, extensionCheck, roleCheck } from "./database_checks.ts";
import { completionCheck, embeddingCheck, keyFileCheck, rerankCheck } from "./provider_checks.ts";

/** A pipeline as far as its health goes. */
export interface DoctorPipeline {
  readonly name: string;
  readonly database: Database;
  readonly tables: readonly SearchedTableSettings[];
  /** Whether the configuration says what is ingested. */
  readonly hasSources?: boolean;
  /** Whether the words of its tables are searched too. */
  readonly isHybrid: boolean;
  readonly embedding: EmbeddingProvider;
  /** The one that is asked, then those that take its place. */
  readonly completions: readonly CompletionProvider[];
  readonly rerank?: RerankProvider;
  /** Files that the configuration says hold the providers' keys. */
  readonly keyFiles: readonly string[];
}

export interface DoctorOptions {
  readonly pipelines: readonly DoctorPipeline[];
  /** Those of the tool server. */
  readonly databases: readonly Database[];
  /** For each check; 10 s where it is absent. */
  readonly limitMs?: number;
  readonly signal: AbortSignal;
}

/** What was found of one pipeline or database. */
export interface Diagnosis {
  readonly kind: "pipeline" | "database";
  readonly name: string;
  readonly results: readonly NamedResult[];
}

/**
 * Looks at pipelines and databases, all at once, and says what is wrong and how to mend it. The pipelines come first, each
 * part in the order that it was given in. It changes nothing; it costs each provider one small request.
 *
 * @throws the signal's reason where that aborts; nothing else
 */
export async function doctor(options: DoctorOptions): Promise<Diagnosis[]> {
  const { limitMs = 10_000, signal } = options;
  const subjects = [
    ...options.pipelines.map((pipeline) => ({
      kind: "pipeline" as const,
      name: pipeline.name,
      checks: pipelineChecks(pipeline, limitMs, signal),
    })),
    ...options.databases.map((database) => ({
      kind: "database" as const,
      name: database.name,
      checks: [databaseCheck(database, [roleCheck(database)])],
    })),
  ];
  return await Promise.all(subjects.map(async ({ kind, name, checks }) => ({
    kind,
    name,
    results: await runChecks(checks, { limitMs, signal }),
  })));
}

/** What is checked of a pipeline; `databaseCheck` and `extensionCheck` go on with what needs them. */
function pipelineChecks(pipeline: DoctorPipeline, limitMs: number, signal: AbortSignal): Check[] {
  const { name, database, tables, hasSources = false, isHybrid, embedding, completions, rerank } = pipeline;
  async function embedPing(): Promise<Float32Array> {
    // checks of tables wait for it too, and have something to do after it
    const { vectors: [vector] } = await withDeadline(
      limitMs * 0.8,
      signal,
      (soon) => embedding.embed({ texts: ["ping"], purpose: "query", signal: soon }),
    );
    if (vector === undefined) {
      throw new ProviderError("provider", "the provider returned no vector for a text");
    }
    return vector;
  }
  let embedded: Promise<Float32Array> | undefined;
  const embed = () => embedded ??= embedPing();
  const tableChecks = tables.map((settings, at) =>
    tableCheck({
      pipeline: name,
      isIngestTarget: at === 0,
      hasSources,
      database,
      settings,
      isHybrid,
      embedding: () => embed().catch(() => undefined),
    })
  );
  return [
    ...pipeline.keyFiles.map(keyFileCheck),
    embeddingCheck(embedding, embed),
    ...completions.map((provider, at) => completionCheck(provider, at > 0)),
    ...(rerank === undefined ? [] : [rerankCheck(rerank)]),
    databaseCheck(database, [
      roleCheck(database, tables.map(({ table }) => table)),
      extensionCheck(database, tableChecks),
    ]),
  ];
}
