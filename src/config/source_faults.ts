import { basename, resolve, sep } from "node:path";
import { formatPath, isMap, type SettingPath, valueAt, type ValueMap } from "../core/document/value_tree.ts";

interface WrittenSource {
  readonly path: SettingPath;
  readonly pipeline: number;
  readonly name: unknown;
  readonly folder: string;
}

/**
 * Reports sources of pipelines that have no name, or one that names another folder too, and folders that lie in each other:
 * within a pipeline, and among those that write to the same table.
 */
export function checkSources(
  pipelines: unknown,
  report: (path: SettingPath, message: string) => void,
): void {
  const byTable = Map.groupBy(maps(pipelines), ([, pipeline]) => tableOf(pipeline));
  for (const group of byTable.values()) {
    const sources = group.flatMap(([at, pipeline]) => sourcesOf(at, pipeline));
    for (const [index, source] of sources.entries()) {
      if (source.name === "") {
        report([...source.path, "name"], "is required where the path ends with no name");
      }
      for (const other of sources.slice(0, index)) checkPair(other, source, report);
    }
  }
}

function checkPair(
  first: WrittenSource,
  second: WrittenSource,
  report: (path: SettingPath, message: string) => void,
): void {
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

function sourcesOf(pipeline: number, map: ValueMap): WrittenSource[] {
  return maps(map["sources"]).flatMap(([index, source]) => {
    const folder = source["path"];
    if (typeof folder !== "string") return [];
    const written = source["name"] ?? basename(folder);
    // as names are known: pipeline_settings.ts
    const name = typeof written === "string" ? written.normalize("NFC") : written;
    return [{ path: ["pipelines", pipeline, "sources", index], pipeline, name, folder: resolve(folder) }];
  });
}

function isInside(folder: string, other: string): boolean {
  return folder === other || folder.startsWith(other.endsWith(sep) ? other : other + sep);
}

/** Names the table into which a pipeline's files go, so that it is told from others. */
function tableOf({ database, tables }: ValueMap): string {
  const connection = ["host", "port", "hosts", "database"].map((key) => valueAt(database, [key]) ?? null);
  return JSON.stringify([...connection, valueAt(tables, [0, "table"]) ?? null]);
}

function maps(list: unknown): (readonly [index: number, map: ValueMap])[] {
  return (Array.isArray(list) ? list : []).flatMap((item, index) =>
    isMap(item) ? [[index, item] as const] : []
  );
}
