import { resolve, sep } from "node:path";
import { formatPath, type SettingPath } from "../core/document/value_tree.ts";
import type { Fault } from "./fault.ts";
import { type PipelineConfig, tableOf } from "./pipeline_settings.ts";
import type { Locate } from "./schema/schema_faults.ts";

interface PlacedSource {
  readonly path: SettingPath;
  readonly pipeline: number;
  readonly name: string;
  readonly folder: string;
}

type Report = (path: SettingPath, message: string) => void;

/**
 * Sources of pipelines that have no name, or one that names another folder too, and folders that lie in each other: within
 * a pipeline, and among those that write to the same table.
 */
export function sourceFaults(pipelines: readonly PipelineConfig[], locate: Locate): Fault[] {
  const faults: Fault[] = [];
  const report: Report = (path, message) => faults.push({ path: formatPath(path), ...locate(path), message });
  const placed = pipelines.map((pipeline, at) => ({
    table: tableOf(pipeline),
    sources: placedIn(pipeline, at),
  }));
  for (const group of Map.groupBy(placed, ({ table }) => table).values()) {
    const sources = group.flatMap(({ sources }) => sources);
    for (const [index, source] of sources.entries()) {
      if (source.name === "") {
        report([...source.path, "name"], "is required where the path ends with no name");
      }
      for (const other of sources.slice(0, index)) checkPair(other, source, report);
    }
  }
  return faults;
}

function placedIn({ sources = [] }: PipelineConfig, pipeline: number): PlacedSource[] {
  return sources.map(({ name, path }, index) => ({
    path: ["pipelines", pipeline, "sources", index],
    pipeline,
    name,
    folder: resolve(path),
  }));
}

function checkPair(first: PlacedSource, second: PlacedSource, report: Report): void {
  const isOtherPipeline = first.pipeline !== second.pipeline;
  // both pipelines may ingest it
  if (isOtherPipeline && first.name === second.name && first.folder === second.folder) return;
  const [where, table] = [formatPath(first.path), isOtherPipeline ? ", for the same table" : ""];
  if (first.name === second.name) {
    return report(
      [...second.path, "name"],
      `${where} already has the name ${JSON.stringify(second.name)}${table}`,
    );
  }
  if (!isInside(second.folder, first.folder) && !isInside(first.folder, second.folder)) return;
  report([...second.path, "path"], `this folder and that of ${where} have the same files${table}`);
}

function isInside(folder: string, other: string): boolean {
  return folder === other || folder.startsWith(other.endsWith(sep) ? other : other + sep);
}
