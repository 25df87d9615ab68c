/** The keys and list positions that lead to a setting. */
export type SettingPath = readonly (string | number)[];

/** `["databases", 1, "sslmode"]` as `databases[1].sslmode`. */
export function formatPath(path: SettingPath): string {
  return path.map((part) => typeof part === "number" ? `[${part}]` : `.${part}`).join("").replace(/^\./, "");
}

/** `databases[1].sslmode` as `["databases", 1, "sslmode"]`. */
export function splitPath(text: string): SettingPath {
  return [...text.matchAll(/\[(\d+)\]|([^.[\]]+)/g)].map(([, index, key]) =>
    index === undefined ? key ?? "" : Number(index)
  );
}
