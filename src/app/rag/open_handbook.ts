import { resolve } from "node:path";
import type { Config } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import { demoHandbookSql, demoPipeline } from "../../demo/demo_handbook.ts";
import { createEmbeddingProvider } from "../../llm/create_provider.ts";
import { knownModel } from "../../llm/onnx/read_model_folder.ts";
import type { OnnxModels } from "../../llm/onnx/onnx_models.ts";
import { pipelineProviders } from "../providers/provider_settings.ts";

/**
 * The demo's pipeline in place of those that are configured, and the SQL of a handbook that the model embedded which `-pull`
 * put here. Without such a model, or where it cannot be used, the embeddings are hashed.
 */
export async function openHandbook(config: Config, models: OnnxModels, logger: Logger) {
  const hashed = { config: { ...config, pipelines: [demoPipeline()] }, sql: undefined };
  const path = resolve(knownModel.folder);
  if (!await Deno.stat(path).then(() => true, () => false)) return hashed;
  const pipeline = demoPipeline(path);
  const { embedding } = pipelineProviders(pipeline, config.vendors);
  try {
    const onnx = embedding.onnx && await models.open(embedding.onnx);
    logger.info("embedding the handbook, which takes a few seconds", { model: embedding.model });
    const options = { ...embedding, apiKey: () => undefined, onnx, logger };
    const sql = await demoHandbookSql(createEmbeddingProvider(options));
    return { config: { ...config, pipelines: [pipeline] }, sql };
  } catch (error) {
    await models[Symbol.asyncDispose]();
    if (!(error instanceof AppError)) throw error;
    logger.warn(`The demo's embeddings know letters, not meaning: ${error.message}`);
    return hashed;
  }
}
