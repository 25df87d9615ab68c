import { queryLimits } from "../rag_server/query_limits.ts";
import type { Place } from "./config_document.ts";
import type { SettingPath } from "./setting_path.ts";
import { formatPath } from "./setting_path.ts";
import { settingsOf } from "./setting_pattern.ts";
import type { ValueMap } from "./value_tree.ts";

/** Settings that files for pgEdge's RAG server may set higher than Postern goes, and how high it goes. */
const highest: Readonly<Record<string, number>> = {
  "defaults.top_n": queryLimits.topN,
  "pipelines[].top_n": queryLimits.topN,
};

/** Lowers what is higher; returns one warning for each such setting. */
export function narrowSettings(
  tree: ValueMap,
  place: (path: SettingPath) => Place | undefined,
): string[] {
  return Object.entries(highest).flatMap(([pattern, most]) =>
    settingsOf(tree, pattern).flatMap(({ holder, key, path }) => {
      const value = holder[key];
      if (typeof value !== "number" || !Number.isInteger(value) || value <= most) return [];
      holder[key] = most;
      const line = place(path)?.line;
      const at = line === undefined ? "" : ` (line ${line})`;
      return [`${formatPath(path)}${at}: ${value} is lowered to ${most}, the highest there is`];
    })
  );
}
