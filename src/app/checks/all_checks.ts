import { withDeadline } from "../../core/async/deadline.ts";
import { createQueue } from "../../core/async/queue.ts";
import type { Logger } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import type { CompletionProvider, EmbeddingProvider, RerankProvider } from "../../llm/provider.ts";
import { ProviderError } from "../../llm/provider_error.ts";
import type { ColumnRefusal } from "../../postgres/catalog/private_columns.ts";
import type { Database } from "../../postgres/database.ts";
import type { DatabaseOptions } from "../../postgres/database_options.ts";
import type { SearchedTableSettings } from "../../rag_server/search/searched_table.ts";
import { chooseModel, type NextModel, type ServedModel } from "../../rag_server/watch/embedded_columns.ts";
import { readRows } from "../../postgres/read/read_trusted.ts";
import { formatPath, type SettingPath } from "../../core/yaml/value_tree.ts";
import { type Check, createCheck, error, type NamedResult, note, runChecks } from "./check.ts";
import {
  callerSettingsChecks,
  databaseCheck,
  excludedColumnsChecks,
  extensionCheck,
  readersCheck,
  roleCheck,
  rowSecurityChecks,
  sharedTablesChecks,
} from "./database_checks.ts";
import { tableCheck } from "./tables/table_check.ts";
import { clockCheck, encryptionCheck, limitCheck } from "./connection_checks.ts";
import { secretFileCheck } from "./file_checks.ts";
import {
  catalogCheck,
  completionCheck,
  definitionsChecks,
  type DoctorDefinitions,
  type DoctorIssuer,
  embeddingCheck,
  extensionsCheck,
  issuerCheck,
  issuerLoginChecks,
  rerankCheck,
  statisticsCheck,
} from "./server_checks.ts";
import type { Config } from "../../config/mod.ts";
import { createOnnxModels } from "../../llm/onnx/onnx_models.ts";
import { createFileWatch } from "../../core/files/watch_files.ts";
import { openCompletion, openEmbedding } from "../providers/open_providers.ts";
import { embeddingProvider, keyFilesOf, llmProviders } from "../providers/provider_settings.ts";
import type { TokenCheckSettings } from "./token_check.ts";
import { configurationChecks } from "./configuration_checks.ts";

/** A pipeline as far as its health goes; `settingAt` is of its own entry. */
export interface DoctorPipeline extends Omit<DoctorDatabase, "isExcluded"> {
  readonly name: string;
  readonly tables: readonly SearchedTableSettings[];
  /** Whether the configuration says what is ingested. */
  readonly hasSources?: boolean;
  /** Whether the words of its tables are searched too. */
  readonly isHybrid: boolean;
  readonly embedding: EmbeddingProvider;
  /** Optional: none where the configuration names no model in place of that. */
  readonly next?: NextModel | undefined;
  /** The one that is asked, then those that take its place. */
  readonly completions: readonly CompletionProvider[];
  readonly rerank?: RerankProvider;
  /** Files that the configuration says hold the providers' keys. */
  readonly keyFiles: readonly string[];
}

/** A database of the tool server. */
interface DoctorDatabase {
  readonly database: Database;
  /** What it was opened with. */
  readonly options: DatabaseOptions;
  /** The full name of a setting in the database's entry; the path as it is where absent. */
  readonly settingAt?: (path: SettingPath) => string;
  /** Columns that no role is to read; none where absent. */
  readonly isExcluded?: ColumnRefusal;
}

const noColumn: ColumnRefusal = () => false;

/** What the servers have besides databases and pipelines. */
interface DoctorServer {
  /** Those of `llm`: the one that is asked, then those that take its place. */
  readonly completions: readonly CompletionProvider[];
  /** That of the section `embedding`. Optional: none where it names none. */
  readonly embedding?: EmbeddingProvider | undefined;
  /** Files that the configuration says hold the providers' keys. */
  readonly keyFiles: readonly string[];
  /** Those whose access tokens let callers in. */
  readonly issuers?: readonly DoctorIssuer[];
  /** What the configuration and its files tell by themselves. */
  readonly configuration: readonly Check[];
  /** Patterns of columns whose values no provider sees. */
  readonly excludedColumns?: readonly string[];
  /** Optional: none where there is no file of definitions, or one that cannot be read. */
  readonly definitions?: DoctorDefinitions | undefined;
}

interface DoctorOptions {
  readonly pipelines: readonly DoctorPipeline[];
  /** Those of the tool server. */
  readonly databases: readonly DoctorDatabase[];
  /** Optional: none where only databases and pipelines are looked at. */
  readonly server?: DoctorServer;
  /** Whom to search as, where what is read depends on who asks. */
  readonly caller?: Principal | undefined;
  /** For each check. Optional; the default is 10 s. */
  readonly limitMs?: number;
  readonly signal: AbortSignal;
  readonly logger: Logger;
  /** Milliseconds since 1970; the process's clock where it is absent. */
  readonly now?: () => number;
}

/** What was found of one pipeline or database, or of what the servers have besides. */
export interface Diagnosis {
  readonly kind: "pipeline" | "database" | "server";
  readonly name: string;
  readonly results: readonly NamedResult[];
}

/** Of many pipelines at once, most would use up their time waiting for this machine. */
const checksAtOnce = 8;

/**
 * Looks at pipelines, databases, and the servers' files and providers, and says what is wrong and how to mend it. The results come in that order, and pipelines and databases as they were given. It changes nothing; it costs each
 * provider one small request.
 *
 * @throws the signal's reason where that aborts; nothing else
 */
export async function doctor(options: DoctorOptions): Promise<Diagnosis[]> {
  const { databases, limitMs = 10_000, signal, logger, now = Date.now, server } = options;
  const ofDatabase = (
    { database, options, settingAt = formatPath, isExcluded = noColumn }: DoctorDatabase,
  ) => [
    ...passwordFileChecks(options),
    databaseCheck(database, options, [
      readersCheck(database, options, isExcluded),
      ...callerSettingsChecks(database, options, settingAt),
      ...sharedTablesChecks(database, options),
      limitCheck(database, options, "each caller"),
      encryptionCheck(options, logger, now),
      extensionsCheck(database),
      statisticsCheck(database),
      catalogCheck(database),
      clockCheck(database, now),
      ...(server?.definitions === undefined
        ? []
        : definitionsChecks(database, options, databases.length === 1, server.definitions)),
    ]),
  ];
  const subjects = [
    ...options.pipelines.map((pipeline) => ({
      kind: "pipeline" as const,
      name: pipeline.name,
      checks: pipelineChecks(pipeline, { limitMs, signal, logger, now, caller: options.caller }),
    })),
    ...databases.map((each) => ({
      kind: "database" as const,
      name: each.database.name,
      checks: ofDatabase(each),
    })),
    ...(server === undefined ? [] : [{
      kind: "server" as const,
      name: "files and providers",
      checks: serverChecks(server, databases),
    }]),
  ];
  const queue = createQueue(checksAtOnce);
  return await Promise.all(subjects.map(async ({ kind, name, checks }) => ({
    kind,
    name,
    results: await runChecks(checks, { limitMs, queue, signal }),
  })));
}

function serverChecks(
  { completions, embedding, keyFiles, configuration, issuers = [], excludedColumns = [] }: DoctorServer,
  databases: readonly DoctorDatabase[],
): Check[] {
  return [
    ...configuration,
    ...excludedColumnsChecks(excludedColumns, databases.map(({ database }) => database)),
    ...issuers.flatMap(({ introspection }) =>
      introspection === undefined ? [] : [secretFileCheck(introspection.clientSecretFile, "secret")]
    ),
    ...issuers.map(issuerCheck),
    ...keyFiles.map((path) => secretFileCheck(path, "key")),
    ...completions.map((provider, at) => completionCheck(provider, at > 0)),
    ...(embedding === undefined ? [] : [embeddingCheck(embedding, (signal) => embedPing(embedding, signal))]),
  ];
}

async function embedPing(embedding: EmbeddingProvider, signal: AbortSignal): Promise<Float32Array> {
  const { vectors: [vector] } = await embedding.embed({ texts: ["ping"], purpose: "query", signal });
  if (vector === undefined) throw new ProviderError("provider", "the provider returned no vector for a text");
  return vector;
}

function passwordFileChecks({ passwordFile }: DatabaseOptions): Check[] {
  return passwordFile === undefined ? [] : [secretFileCheck(passwordFile, "password")];
}

/** What is checked of a pipeline; `databaseCheck` and `extensionCheck` go on with what needs them. */
function pipelineChecks(
  pipeline: DoctorPipeline,
  { limitMs, signal, logger, now, caller }:
    & Required<Pick<DoctorOptions, "limitMs" | "signal" | "logger" | "now">>
    & Pick<DoctorOptions, "caller">,
): Check[] {
  const { name, database, options, tables, hasSources = false, isHybrid, embedding: own, next, completions } =
    pipeline;
  const { settingAt = formatPath, rerank } = pipeline;
  const embedded = new Map<EmbeddingProvider, Promise<Float32Array>>();
  function embed(model: EmbeddingProvider): Promise<Float32Array> {
    // checks of tables wait for it too, and have something to do after it
    const vector = embedded.get(model) ??
      withDeadline(limitMs * 0.8, signal, (soon) => embedPing(model, soon));
    embedded.set(model, vector);
    return vector;
  }
  const tableChecks = ({ tables, embedding }: ServedModel) =>
    tables.map((settings, at) =>
      tableCheck({
        pipeline: name,
        isIngestTarget: at === 0,
        hasSources,
        database,
        settings,
        isHybrid,
        caller,
        embedding: () => embed(embedding).catch(() => undefined),
      })
    );
  const modelCheck = createCheck("model", async (signal) => {
    const model = await chooseModel((...sql) => readRows(database, signal, ...sql), { tables, own, next });
    const columns = new Set(model.tables.map(({ vectorColumn }) => vectorColumn));
    const told = model.fault === undefined
      ? note(`${model.embedding.name}, in column ${[...columns].join(", ")}`)
      : error(
        model.fault.message,
        `-- Set embedding_llm to that model, or vector_column to a column of ${own.name}`,
      );
    return [told, ...tableChecks(model)];
  });
  return [
    ...pipeline.keyFiles.map((path) => secretFileCheck(path, "key")),
    ...passwordFileChecks(options),
    // -ingest and -watch-pipeline embed by its own after a switch too
    ...[own, ...(next === undefined ? [] : [next.embedding])].map((each) =>
      embeddingCheck(each, () => embed(each))
    ),
    ...completions.map((provider, at) => completionCheck(provider, at > 0)),
    ...(rerank === undefined ? [] : [rerankCheck(rerank)]),
    databaseCheck(database, options, [
      roleCheck(database, tables.map(({ table }) => table)),
      ...callerSettingsChecks(database, options, settingAt),
      ...rowSecurityChecks(database, options, tables.map(({ table }) => table)),
      limitCheck(database, options, "all of its callers together"),
      encryptionCheck(options, logger, now),
      extensionCheck(database, [modelCheck]),
    ]),
  ];
}

/** What the doctor looks at of the servers besides databases and pipelines. */
export async function openDoctorServer(
  config: Config,
  logger: Logger,
): Promise<DoctorServer & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const files = opening.use(createFileWatch());
  const models = createOnnxModels({ libraryPath: config.models.library_path, logger });
  const completion = await openCompletion({ config, files, models, logger });
  if (completion !== undefined) opening.use(completion);
  const embedding = openEmbedding({ config, files, models, logger });
  if (embedding !== undefined) opening.use(embedding);
  const ofTexts = embeddingProvider(config);
  const ofEmbedding = await embedding?.provider();
  const stack = opening.move();
  return {
    completions: completion?.completions ?? [],
    embedding: ofEmbedding,
    keyFiles: keyFilesOf([...llmProviders(config), ...(ofTexts === undefined ? [] : [ofTexts])]),
    configuration: [...configurationChecks(config, Date.now), ...await issuerLoginChecks(config.http)],
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
    sections.flatMap(({ identity_provider: provider, user_file: userFile }) =>
      provider === undefined ? [] : [[JSON.stringify(provider), { provider, userFile }]]
    ),
  );
  if (providers.size === 0) return [];
  const { issuerSettings } = await import("../open_issuer.ts");
  return [...providers.values()].map(({ provider, userFile }) => ({
    ...issuerSettings(provider),
    ...(provider.trust_names && { userFile }),
  }));
}
