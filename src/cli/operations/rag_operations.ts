import { defined } from "../../core/defined.ts";
import { startsPrograms } from "../../app/processes/runtime.ts";
import { openToolDatabases } from "../../app/open_databases.ts";
import {
  openAllPipelines,
  openOperatorPipeline,
  type OperatorPipeline,
} from "../../app/rag/operator_pipelines.ts";
import { type Config, type PipelineConfig, sourcesOfOthers, writtenSetting } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import { createLogger, type Logger } from "../../core/logger.ts";
import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { createColumnPatterns } from "../../postgres/catalog/private_columns.ts";
import { evaluatePipeline } from "../../rag_server/evaluate/evaluate.ts";
import { evaluateAnswers } from "../../rag_server/evaluate/evaluate_answers.ts";
import { searchLimit } from "../../rag_server/pipeline.ts";
import { openSearchedTable } from "../../rag_server/search/searched_table.ts";
import { printDiagnoses } from "./doctor_operation.ts";
import type { ConfiguredSource } from "../../rag_server/ingest/given_paths.ts";
import { chunkSizes } from "../../rag_server/ingest/ingest.ts";
import { openGitSource } from "../../rag_server/ingest/sources/git_source.ts";
import { openS3Source } from "../../rag_server/ingest/sources/s3_source.ts";
import { openWebSource } from "../../rag_server/ingest/sources/web_source.ts";
import { evaluateRetrieval, type EvaluationInput } from "./evaluate_operation.ts";
import { reembedPipeline } from "./reembed_operation.ts";
import { setUpWatch, watchPipeline } from "./watch_operation.ts";
import { parseDuration } from "../../core/text/units.ts";
import { createSqlSession } from "../../postgres/sql_session.ts";
import { type Read, readRows } from "../../postgres/read/read_trusted.ts";
import { chooseModel, type ServedModel } from "../../rag_server/watch/embedded_columns.ts";
import { ingestOperation } from "./ingest_operation.ts";
import { watchSources } from "./watch_sources.ts";
import { tokenPrefix } from "../../identity/presented_token.ts";
import { createStreamWriter, type Print } from "../output.ts";
import type { ParsedFlags } from "../parse_flags.ts";
import { createProgress } from "../progress_bar.ts";
import { dropPipelineIndex, indexPipeline, type PipelineOperation, withRoleHint } from "./index_operation.ts";
import { claimOf, parseClaims } from "../../core/claims.ts";
import type { Principal } from "../../core/principal.ts";
import { runChecks } from "../../app/checks/check.ts";
import { configuredIssuers, type Diagnosis, doctor, openDoctorServer } from "../../app/checks/all_checks.ts";
import { UntoldCallerError } from "../../postgres/read/caller_settings.ts";

interface Context extends Omit<PipelineOperation, "named"> {
  readonly flags: ParsedFlags;
  readonly config: Config;
  readonly logger: Logger;
}

/**
 * Does an administrator's operation on pipelines.
 * @returns the exit code
 * @throws {AppError} what the operation throws
 */
export async function ragOperation(
  flags: ParsedFlags,
  config: Config,
  { print }: { readonly print: Print },
): Promise<number> {
  const progress = createProgress({
    isTerminal: Deno.stderr.isTerminal(),
    write: createStreamWriter(Deno.stderr, "standard error").write,
    now: () => performance.now(),
  });
  const logger = createLogger(config.log);
  return await untilInterrupted(async (signal) => {
    const context = { flags, config, print, logger, progress, signal };
    if (flags.operation === "doctor") return await lookInto(context);
    await openPipeline(context);
    return 0;
  });
}

async function openPipeline(context: Context): Promise<void> {
  const { flags, config, logger } = context;
  const valueOf = (key: string) => flags.settings.get(`databases[0].${key}`)?.text;
  const role = defined({ user: valueOf("user"), password: valueOf("password") });
  await using named = await openOperatorPipeline(flags.subject, { config, role, logger });
  try {
    await usePipeline(named, context, role.user);
  } catch (error) {
    // only reads, as the pipeline's own role
    if (flags.operation === "evaluate") throw withClaimsHint(error);
    throw withRoleHint(error, role.user ?? named.pipeline.databaseOptions.user);
  }
}

async function usePipeline(
  named: OperatorPipeline,
  context: Context,
  role: string | undefined,
): Promise<void> {
  const { flags, config, print, logger, progress, signal } = context;
  const read: Read = (...sql) => readRows(named.pipeline.database, signal, ...sql);
  switch (flags.operation) {
    case "index-pipeline":
      return await indexPipeline({ named, progress, print, signal });
    case "drop-index":
      return await dropPipelineIndex({ named, progress, print, signal });
    case "ingest": {
      const { config: own, providers, tables: [table] } = named.pipeline;
      if (table === undefined) return;
      await using opened = new AsyncDisposableStack();
      const configured = openSources(own, config, opened);
      const startsSome = startsPrograms(config) || own.ocr_command !== undefined ||
        own.sources?.some(({ git }) => git);
      if (!startsSome) await Deno.permissions.revoke({ name: "run" });
      let isFurther = false;
      const ingestOnce = async (work: AbortSignal) => {
        await using connection = await named.connect(work);
        const session = createSqlSession(connection, work, `ingest into pipeline "${own.name}"`);
        const { fault } = await named.pipeline.choose(session.query);
        if (fault !== undefined) throw fault;
        await ingestOperation({
          pipeline: own.name,
          connection,
          table: { ...table, ...defined({ metadata: own.metadata }) },
          embedding: providers.embedding,
          ...chunkSizes(own.chunks && defined(own.chunks), providers.embedding),
          ocrCommand: own.ocr_command,
          paths: flags.paths,
          sourceName: flags.options.source,
          configured,
          isDryRun: flags.isOn("dry-run"),
          isRemovalConfirmed: flags.isOn("confirm-removal"),
          isFurther,
          json: flags.json,
          progress,
          now: () => performance.now(),
          metricsFolder: config.metrics.ingest_folder,
          signal: work,
          stopping: signal,
          logger,
        }, (line) => {
          isFurther = flags.isOn("watch");
          print(line);
        });
      };
      if (!flags.isOn("watch")) return await ingestOnce(signal);
      const folders = configured.filter(({ remote, otherPipeline }) => !remote && !otherPipeline);
      const paths = flags.paths.length > 0 ? flags.paths : folders.map(({ path }) => path);
      if (paths.length === 0 && !own.sources?.length) return await ingestOnce(signal);
      const pollMs = parseDuration(flags.options.poll ?? "");
      return await watchSources({ ingestOnce, paths, pollMs, stopping: signal, logger });
    }
    case "setup-watch":
      return await setUpWatch({ named, role, print, logger, signal });
    case "watch-pipeline": {
      const isRetry = flags.isOn("retry-failed");
      return await watchPipeline({ named, role, isRetry, print, logger, signal }).catch(
        (error) => {
          // a worker that is stopped while it starts has nothing to finish
          if (isRetry || !signal.aborted) throw error;
        },
      );
    }
    case "reembed": {
      const { tables, providers: { embedding, reembed } } = named.pipeline;
      const switchTo = flags.options["switch-to"];
      const both = async () => {
        print(`\n${embedding.name}:`);
        await evaluateModel(await chooseModel(read, { tables, own: embedding }), named, context);
        if (reembed === undefined) return;
        print(`\n${reembed.embedding.name}:`);
        const { vectorColumn } = reembed;
        const next = tables.map((table) => ({ ...table, vectorColumn }));
        await evaluateModel({ tables: next, embedding: reembed.embedding }, named, context);
      };
      const evaluate = flags.options.queries === undefined ? undefined : both;
      return await reembedPipeline({ named, switchTo, evaluate, progress, print, logger, signal });
    }
    case "evaluate":
      return await evaluateModel(await named.pipeline.choose(read), named, context);
  }
}

/** Measures what a pipeline finds by one of its models. @throws {AppError} the model's fault */
async function evaluateModel(
  { tables, embedding, fault }: ServedModel,
  { pipeline }: OperatorPipeline,
  { flags, print, logger, progress, signal }: Context,
): Promise<void> {
  if (fault !== undefined) throw fault;
  const settings = {
    queriesFile: flags.options.queries ?? "",
    qrelsFile: flags.options.qrels ?? "",
    json: flags.json,
  };
  const { config: { top_n }, database, searchBy, providers } = pipeline;
  const caller = claimedCaller(flags.options.claims);
  const onProgress = (done: number, total: number) => progress.update({ phase: "questions", done, total });
  const judgeAnswers = (input: EvaluationInput) =>
    evaluateAnswers({ ...input, pipeline, ...defined({ caller }), onProgress, signal }).finally(progress.end);
  return await evaluateRetrieval(settings, async (input) => ({
    ...await evaluatePipeline({
      ...input,
      database,
      tables: await Promise.all(tables.map((table) => openSearchedTable(database, table, signal))),
      search: searchBy(embedding),
      limit: searchLimit(top_n, providers.rerank !== undefined),
      embedding,
      caller,
      onProgress,
      signal,
      logger,
    }).finally(progress.end),
    ...(flags.isOn("answers") && { answers: await judgeAnswers(input) }),
  }), print);
}

async function lookInto({ flags, config, print, logger, signal }: Context): Promise<number> {
  const plain = !Deno.stdout.isTerminal() || Deno.noColor;
  const settings = { json: flags.json, plain };
  const tokenFile = flags.options["check-token"];
  if (tokenFile !== undefined) {
    return printDiagnoses([await lookIntoToken(tokenFile, config, signal)], settings, print);
  }
  await using set = await openAllPipelines(config, logger);
  await using databases = await openToolDatabases(config, logger);
  await using server = await openDoctorServer(config, logger);
  const isExcluded = createColumnPatterns(config.llm.excluded_columns);
  const diagnoses = await doctor({
    pipelines: set.list.map(({ config: { name, sources = [], search }, tables, providers, ...pipeline }) => ({
      name,
      hasSources: sources.length > 0,
      database: pipeline.database,
      options: pipeline.databaseOptions,
      settingAt: (path) => writtenSetting(config, "pipelines", name, path),
      tables,
      isHybrid: search.hybrid_enabled && search.vector_weight < 1,
      embedding: providers.embedding,
      next: providers.reembed,
      completions: providers.completions,
      ...defined({ rerank: providers.rerank }),
      keyFiles: providers.keyFiles,
    })),
    databases: databases.list.map((each) => ({
      ...each,
      settingAt: (path) => writtenSetting(config, "databases", each.options.name, path),
      isExcluded,
    })),
    server,
    caller: claimedCaller(flags.options.claims),
    signal,
    logger,
  });
  return printDiagnoses(diagnoses, settings, print);
}

async function lookIntoToken(file: string, config: Config, signal: AbortSignal): Promise<Diagnosis> {
  const { apiTokenCheck, tokenCheck } = await import("../../app/checks/token_check.ts");
  const token = (await readToken(file)).trim();
  if (token === "") {
    const source = file === "-" ? "standard input" : file;
    throw new AppError("invalid", `Cannot check the token: ${source} is empty; put the access token there`);
  }
  const issuers = token.startsWith(tokenPrefix) ? [] : await configuredIssuers(config);
  const checks = issuers.map((issuer) => tokenCheck(issuer, token, config));
  const [name, each] = checks.length > 0
    ? ["identity provider", checks]
    : ["API tokens", [apiTokenCheck(config, token)]];
  return { kind: "server", name, results: await runChecks(each, { limitMs: 10_000, signal }) };
}

async function readToken(file: string): Promise<string> {
  if (file === "-") return await new Response(Deno.stdin.readable).text();
  try {
    return await readRegularFile(file);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError(
      "unavailable",
      `Cannot read ${file}: give the file that holds the token, or - for standard input`,
      { cause },
    );
  }
}

function withClaimsHint(error: unknown): unknown {
  if (!(error instanceof UntoldCallerError)) return error;
  return new AppError(error.code, `${error.message}; give the caller's claims with -claims`, {
    cause: error,
  });
}

/** Runs an operation whose signal aborts on SIGINT or SIGTERM, so that it ends in order. */
async function untilInterrupted<T>(operation: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = () => controller.abort(new AppError("unavailable", "Cannot finish: interrupted"));
  const signals = ["SIGTERM", "SIGINT"] as const;
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  try {
    return await operation(controller.signal);
  } finally {
    for (const signal of signals) Deno.removeSignalListener(signal, stop);
  }
}

/** The sources of a pipeline, and those of others for its table. What they leave behind is removed with `opened`. */
function openSources(own: PipelineConfig, config: Config, opened: AsyncDisposableStack): ConfiguredSource[] {
  const sources = [...(own.sources ?? []), ...sourcesOfOthers(own, config.pipelines)];
  return sources.map(({ git, s3, http, ...source }) => {
    const bucket = s3 && openS3Source({ ...s3, keys: config.vendors.aws });
    const remote = bucket ?? (git && openGitSource(git)) ?? (http && openWebSource(http));
    opened.defer(() => remote?.close?.());
    return { ...source, ...defined({ remote }) };
  });
}

/**
 * Whom `-claims` describes, as an identity provider or a proxy would; the claim `sub` is the caller's name.
 *
 * @param claimsText a JSON object. Optional: nobody without it
 */
function claimedCaller(claimsText: string | undefined): Principal | undefined {
  if (claimsText === undefined) return undefined;
  const claims = parseClaims(claimsText) ?? {};
  const subject = claimOf(claims, "sub");
  const name = typeof subject === "string" && subject !== "" ? { account: subject } : {};
  return { kind: "issuer", issuer: "-claims", subject: "", groups: [], claims, claimsText, ...name };
}
