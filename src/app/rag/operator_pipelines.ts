import { defined } from "../../core/defined.ts";
import type { Config } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import { createFileWatch } from "../../core/files/watch_files.ts";
import type { Logger } from "../../core/logger.ts";
import { connect } from "../../postgres/connect/connect.ts";
import type { Connection } from "../../postgres/connection.ts";
import { createStatementGuard } from "../../postgres/guard/statement_guard.ts";
import { type OpenPipeline, type OpenPipelines, openPipelines } from "./open_pipelines.ts";
import { createOnnxModels } from "../../llm/onnx/onnx_models.ts";
import { createUsageLedger } from "../../llm/usage.ts";

/** A role in place of the pipeline's own, which as a rule only reads. */
interface OperatorRole {
  readonly user?: string;
  readonly password?: string;
}

/** A pipeline for one of an administrator's operations. */
export interface OperatorPipeline extends AsyncDisposable {
  readonly pipeline: OpenPipeline;
  /** A connection of its own, which may write where the role may. */
  connect(signal: AbortSignal): Promise<Connection>;
}

/** @throws {AppError} `not_found` for a name that the configuration does not have */
export async function openOperatorPipeline(
  name: string,
  { config, role, logger }: { readonly config: Config; readonly role: OperatorRole; readonly logger: Logger },
): Promise<OperatorPipeline> {
  const chosen = config.pipelines.filter((pipeline) => pipeline.name === name);
  if (chosen.length === 0) {
    const known = config.pipelines.map((pipeline) => pipeline.name).join(", ") || "none";
    throw new AppError("not_found", `Cannot find pipeline "${name}": the configuration has ${known}`);
  }
  const set = await openAllPipelines({ ...config, pipelines: chosen }, logger);
  const [pipeline] = set.list;
  if (pipeline === undefined) throw new AppError("internal", "Cannot open the pipeline");
  const { password: own, passwordFile: ownFile, passwordIssuer, ...options } = pipeline.databaseOptions;
  const isOwnRole = role.user === undefined;
  const password = role.password ?? (isOwnRole ? own : undefined);
  return {
    pipeline,
    connect: (signal) =>
      connect({
        ...options,
        // writing needs the primary
        targetSessionAttrs: options.hosts.length > 1 ? "read-write" : "any",
        user: role.user ?? options.user,
        ...defined({ password }),
        ...(isOwnRole ? defined({ passwordIssuer }) : {}),
        ...(isOwnRole && ownFile !== undefined ? { passwordFile: ownFile } : {}),
      }, { signal, logger }),
    [Symbol.asyncDispose]: () => set[Symbol.asyncDispose](),
  };
}

/** An operator would rather hear soon that a running server has all the connections of its role. */
const shortageWaitMs = 3_000;

/** All pipelines of a configuration, without a server. */
export async function openAllPipelines(config: Config, logger: Logger): Promise<OpenPipelines> {
  await using opening = new AsyncDisposableStack();
  const files = opening.use(createFileWatch());
  const guard = await createStatementGuard();
  const models = createOnnxModels({ libraryPath: config.models.library_path, logger });
  const { list } = opening.use(
    await openPipelines({
      config,
      guard,
      ledger: createUsageLedger(),
      files,
      models,
      shortageWaitMs,
      logger,
    }),
  );
  const stack = opening.move();
  return { list, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
