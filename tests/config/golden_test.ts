import assert from "node:assert/strict";
import { ConfigError, faultText, loadConfig } from "../../src/config/mod.ts";
import { parseFlags } from "../../src/cli/parse_flags.ts";
import { isUpdating } from "../snapshots/snapshot.ts";
import { optionsFor } from "./load_options.ts";

/** Beside `<case>.yaml`: what it is loaded with, and what must come of it. */
interface Expectation {
  env?: Record<string, string>;
  args?: string[];
  faults?: string[];
  warnings?: string[];
  /** Compared part by part; a part that is not here is not compared. */
  config?: Record<string, unknown>;
}

const folder = new URL("golden/", import.meta.url);
const cases = [...Deno.readDirSync(folder)].map(({ name }) => name).filter((name) => name.endsWith(".yaml"));

for (const name of cases.toSorted()) {
  Deno.test(`loadConfig() of golden/${name} gives what stands beside it`, async () => {
    const text = await Deno.readTextFile(new URL(name, folder));
    const file = new URL(name.replace(".yaml", ".json"), folder);
    const expected: Expectation = JSON.parse(await Deno.readTextFile(file));
    const actual = await resultOf(text, expected);
    if (isUpdating()) {
      for (const part in expected.config) expected.config[part] = actual.config[part];
      for (const part of ["faults", "warnings"] as const) {
        if (actual[part].length > 0 || expected[part] !== undefined) expected[part] = [...actual[part]];
      }
      await Deno.writeTextFile(file, `${JSON.stringify(expected, null, 2)}\n`);
    }
    assert.deepEqual(actual.faults, expected.faults ?? []);
    assert.deepEqual(actual.warnings, expected.warnings ?? []);
    for (const [part, value] of Object.entries(expected.config ?? {})) {
      assert.deepEqual(actual.config[part], value, part);
    }
  });
}

async function resultOf(text: string, { env = {}, args = [] }: Expectation) {
  try {
    const { config, warnings } = await loadConfig(optionsFor(text, { env, flags: parseFlags(args) }));
    return { faults: [], warnings, config: JSON.parse(JSON.stringify(config)) };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return { faults: error.faults.map(faultText), warnings: [], config: {} };
  }
}
