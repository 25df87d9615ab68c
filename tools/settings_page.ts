import { configSchema } from "../src/config/schema/config_schema.ts";
import { readWhen } from "../src/config/mod.ts";
import { aliases } from "../src/config/schema/pgedge_aliases.ts";
import { leafSchemas, schemaDescription, writtenDefault } from "../src/config/schema/schema_walk.ts";
import { formatPath } from "../src/core/yaml/value_tree.ts";

/** A row of the table of settings: name, default, what it is, and when it is read. */
export function settingsRows(): string[][] {
  return Array.from(leafSchemas(configSchema), ([path, schema]) => {
    const name = formatPath(path).replaceAll("[0]", "[]");
    const value = writtenDefault(schema);
    const text = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
    return [
      `\`${name}\``,
      text === "" ? "" : `\`${text}\``,
      (schemaDescription(schema) ?? "").replaceAll("|", "\\|"),
      readWhen(name),
    ];
  });
}

/** A row for each other name of a setting. */
export function aliasRows(): string[][] {
  return aliases.map(({ holder, alias, name, schema }) => [
    `\`${holder}.${alias}\``,
    `${schema === undefined ? "" : "a half of "}\`${holder}.${name}\``,
  ]);
}

/** The page before it is formatted: a table for each of the file's own keys. */
export function settingsPage(): string {
  const table = (head: string, rows: string[][]) =>
    [head, head.replaceAll(/[^|]+/g, " --- "), ...rows.map((cells) => `| ${cells.join(" | ")} |`)].join("\n");
  const sections = Map.groupBy(settingsRows(), ([name = ""]) => /[a-z_]+/.exec(name)?.[0] ?? name);
  const tables = Array.from(
    sections,
    ([key, rows]) => `## ${key}\n\n${table("| Setting | Default | What it sets | Read |", rows)}\n`,
  );
  return `# Settings

Every setting of the configuration file, its default, and when Postern reads it:

- \`reloaded\`: a running server applies a change of the file, by itself and on SIGHUP
  ([operations](operations.md#what-is-loaded-again)).
- \`at the start\`: a change waits for the next start.

[config.example.yaml](../config.example.yaml) shows the settings in their places.

${tables.join("\n")}
## Other names

pgEdge's two servers name some settings differently. Postern takes both names in both places.

${table("| Another name | of |", aliasRows())}
`;
}
