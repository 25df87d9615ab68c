import { basename } from "node:path";
import { formatPath, isMap, type SettingPath, valueAt, type ValueMap } from "./value_tree.ts";

/**
 * Reports sources of pipelines that have no name, or one that names another folder too: within a pipeline, and among those
 * that write to the same table.
 */
export function checkSources(
  pipelines: unknown,
  report: (path: SettingPath, message: string) => void,
): void {
  const seen = new Map<
    string,
    { readonly path: SettingPath; readonly folder: unknown; readonly at: number }
  >();
  for (const [at, pipeline] of maps(pipelines)) {
    for (const [index, source] of maps(pipeline["sources"])) {
      const path = ["pipelines", at, "sources", index];
      const folder = source["path"];
      if (typeof folder !== "string") continue;
      const name = source["name"] ?? basename(folder);
      if (name === "") report([...path, "name"], "is required where the path ends with no name");
      const key = JSON.stringify([...tableOf(pipeline), name]);
      const first = seen.get(key);
      if (first === undefined) seen.set(key, { path, folder, at });
      else if (first.at === at || first.folder !== folder) {
        const where = first.at === at ? "" : ", for the same table";
        report(
          [...path, "name"],
          `${formatPath(first.path)} already has the name ${JSON.stringify(name)}${where}`,
        );
      }
    }
  }
}

/** What tells the table into which a pipeline's files go from others. */
function tableOf(pipeline: ValueMap): unknown[] {
  const { database, tables } = pipeline;
  const connection = ["host", "port", "hosts", "database"].map((key) => valueAt(database, [key]) ?? null);
  return [...connection, valueAt(tables, [0, "table"]) ?? null];
}

function maps(list: unknown): (readonly [index: number, map: ValueMap])[] {
  return (Array.isArray(list) ? list : []).flatMap((item, index) =>
    isMap(item) ? [[index, item] as const] : []
  );
}
