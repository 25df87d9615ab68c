import type { Config } from "../../config/mod.ts";
import type { Logger } from "../../core/logger.ts";
import { createOnnxModels, type OnnxModels } from "../../llm/onnx/onnx_models.ts";
import { configuredModels } from "./provider_settings.ts";

/**
 * Loads the models that the configuration names, and keeps them to the end of the process: only at its start may it load
 * ONNX Runtime's library.
 *
 * @throws {AppError} `invalid` where one cannot be used
 */
export async function openModels(
  config: Pick<Config, "embedding" | "pipelines" | "vendors" | "models">,
  logger: Logger,
): Promise<OnnxModels & AsyncDisposable> {
  await using opening = new AsyncDisposableStack();
  const models = createOnnxModels({ libraryPath: config.models.library_path, logger });
  for (const model of configuredModels(config)) opening.use(await models.open(model));
  const stack = opening.move();
  return { ...models, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}
