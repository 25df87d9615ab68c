import assert from "node:assert/strict";
import { loadConfig } from "../../src/config/mod.ts";
import { configSchema } from "../../src/config/schema/config_schema.ts";
import { leafSchemas, writtenDefault } from "../../src/config/schema/schema_walk.ts";
import { optionsFor } from "./load_options.ts";
import { parse } from "yaml";
import { formatPath, valueAt } from "../../src/core/yaml/value_tree.ts";

const example = await Deno.readTextFile(new URL("../../config.example.yaml", import.meta.url));
const withDefaults = example.replaceAll(/^( *)#(?=[a-z-])/gm, "$1");
const withEverything = example.replaceAll(/^( *)##?(?=[a-z-])/gm, "$1");

Deno.test("config.example.yaml as it stands changes nothing", async () => {
  const loaded = await loadConfig(optionsFor(example));
  assert.deepEqual(loaded.config, (await loadConfig(optionsFor(""))).config);
  assert.deepEqual(loaded.warnings, []);
});

Deno.test("config.example.yaml shows the true default of every setting that has one", async () => {
  const { config } = await loadConfig(optionsFor(withDefaults));
  assert.deepEqual(config, (await loadConfig(optionsFor("databases: [{ name: main }]"))).config);
});

Deno.test("config.example.yaml leaves no setting with a default unset", () => {
  const [defaults, everything]: unknown[] = [parse(withDefaults), parse(withEverything)];
  for (const [path, schema] of leafSchemas(configSchema)) {
    // there is no pipeline by default, so that what it leaves out stands in the example of one
    const shown = path[0] === "pipelines" ? everything : defaults;
    if (writtenDefault(schema) !== undefined) {
      assert.notEqual(valueAt(shown, path), undefined, `${formatPath(path)} is missing`);
    }
  }
});

Deno.test("config.example.yaml names every key of the schema, and examples that are valid", () => {
  const shown: unknown = parse(withEverything);
  for (const [path] of leafSchemas(configSchema)) {
    assert.notEqual(valueAt(shown, path), undefined, `${formatPath(path)} is missing`);
  }
  assert.deepEqual(configSchema.safeParse(shown).error?.issues ?? [], []);
});
