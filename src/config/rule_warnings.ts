import { type PlaceOf, settingAt } from "../core/document/place.ts";
import { type LimitName, limitNames } from "../core/quotas/limit_kinds.ts";
import { isMap, type SettingPath, valueAt, type ValueMap } from "../core/document/value_tree.ts";
import { unmatchedCallerWarnings } from "./unmatched_callers.ts";

/** One warning for each setting that has no effect, or another than it seems to, beside the others. */
export function ruleWarnings(tree: ValueMap, place: PlaceOf): string[] {
  const at = (path: SettingPath) => settingAt(path, place);
  return [
    ...unmatchedCallerWarnings(tree, place),
    ...redirectsWithStars(tree).map((path) =>
      `${at(path)} matches no address with other text in place of *: addresses are compared to the letter`
    ),
    ...(valueAt(tree, ["audit", "texts"]) === true && valueAt(tree, ["audit", "file"]) === undefined
      ? [`${at(["audit", "texts"])} has no effect without audit.file`]
      : []),
    ...(tree["data_dir"] === undefined && haveWindowLimits(tree["limits"])
      ? [
        `${
          at(["limits"])
        }: minutes and days begin anew whenever the server starts: set data_dir to have what was used kept`,
      ]
      : []),
  ];
}

function redirectsWithStars(tree: ValueMap): SettingPath[] {
  const path = ["http", "auth", "oauth", "allowed_redirect_uris"];
  const written = valueAt(tree, path);
  return (Array.isArray(written) ? written : []).flatMap((uri, index) =>
    String(uri).includes("*") ? [[...path, index]] : []
  );
}

const ofWindows: readonly LimitName[] = limitNames.filter((name) => name !== "calls_at_once");

function haveWindowLimits(limits: unknown): boolean {
  const named = ["principals", "groups"].flatMap((part) => valuesOf(valueAt(limits, [part])));
  return [valueAt(limits, ["default"]), valueAt(limits, ["all"]), ...named].some((numbers) =>
    ofWindows.some((name) => valueAt(numbers, [name]) !== undefined)
  );
}

function valuesOf(section: unknown): unknown[] {
  return isMap(section) ? Object.values(section) : [];
}
