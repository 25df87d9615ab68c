import { layered } from "./pipeline_settings.ts";
import type { SettingPath } from "./setting_path.ts";
import { isMap, valueAt, type ValueMap } from "./value_tree.ts";

type Report = (path: SettingPath, message: string) => void;

/** What a pipeline lacks, `defaults` included, and what cannot be together in it. */
export function checkPipelines(tree: ValueMap, report: Report): void {
  const pipelines = Array.isArray(tree["pipelines"]) ? tree["pipelines"] : [];
  for (const [index, pipeline] of pipelines.entries()) {
    if (!isMap(pipeline)) continue;
    const path = ["pipelines", index] as const;
    for (const part of ["embedding_llm", "rag_llm"]) checkProvider(tree, pipeline, [...path, part], report);
    checkDatabase(pipeline["database"], [...path, "database"], report);
    const rerank = valueAt(pipeline, ["rerank"]);
    checkModel(rerank, [...path, "rerank"], report);
  }
}

function checkProvider(tree: ValueMap, pipeline: ValueMap, path: SettingPath, report: Report): void {
  const part = String(path.at(-1));
  const [own, base] = [pipeline[part], valueAt(tree, ["defaults", part])].map((value) =>
    isMap(value) ? value as { provider?: string } : undefined
  );
  const settings = layered(own, base);
  if (settings.provider === undefined) {
    report(path, `a provider is required, here or in defaults.${part}`);
    return;
  }
  checkModel(settings, path, report);
  const fallback = valueAt(settings, ["fallback"]);
  for (const [index, entry] of (Array.isArray(fallback) ? fallback : []).entries()) {
    checkModel(entry, [...path, "fallback", index], report);
  }
}

function checkModel(section: unknown, path: SettingPath, report: Report): void {
  const provider = valueAt(section, ["provider"]);
  if (typeof provider !== "string" || provider === "local") return;
  if (valueAt(section, ["model"]) === undefined) report([...path, "model"], `is required for ${provider}`);
}

function checkDatabase(database: unknown, path: SettingPath, report: Report): void {
  if (!isMap(database)) return;
  const hasHosts = database["hosts"] !== undefined;
  for (const other of ["host", "port"]) {
    if (hasHosts && database[other] !== undefined) {
      report([...path, other], "cannot be given together with hosts");
    }
  }
  if (!hasHosts && database["target_session_attrs"] !== undefined) {
    report([...path, "target_session_attrs"], "needs hosts: one server leaves nothing to choose");
  }
  if (database["password"] !== undefined && database["password_file"] !== undefined) {
    report([...path, "password_file"], "cannot be given together with password");
  }
  for (const [one, other] of [["ssl_cert", "ssl_key"], ["ssl_key", "ssl_cert"]] as const) {
    if (database[one] !== undefined && database[other] === undefined) {
      report([...path, other], `is required where ${one} is given`);
    }
  }
}
