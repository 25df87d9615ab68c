import { missingSecretWarnings } from "../../app/missing_secrets.ts";
import { findStartFaults } from "../../app/start_faults.ts";
import { ConfigError, type Fault, faultText, loadConfig, type LoadOptions } from "../../config/mod.ts";
import { counted, jsonText, type Print, visible } from "../output.ts";

interface CheckedConfig {
  readonly path: string | undefined;
  /** Those of the file have a line; what a start would find besides has a message alone. */
  readonly faults: readonly (Fault | { readonly message: string })[];
  readonly warnings: readonly string[];
}

/**
 * Prints what this version makes of a configuration, without a database or a provider.
 *
 * @returns the exit code: 1 if a server would not start with it
 */
export async function checkConfig(
  options: LoadOptions,
  { json }: { readonly json: boolean },
  print: Print,
): Promise<number> {
  const { path, faults, warnings } = await check(options);
  if (json) print(jsonText({ file: path ?? null, faults, warnings }));
  else {
    for (const fault of faults) {
      print(`ERROR   ${visible("path" in fault ? faultText(fault) : fault.message)}`);
    }
    for (const warning of warnings) print(`WARNING ${visible(warning)}`);
    const end = faults.length > 0 ? "cannot be used" : "can be used";
    const counts = `${counted(faults.length, "error")}, ${counted(warnings.length, "warning")}`;
    print(`${visible(path ?? "The configuration")} ${end}: ${counts}`);
  }
  return faults.length > 0 ? 1 : 0;
}

async function check(options: LoadOptions): Promise<CheckedConfig> {
  try {
    const { config, warnings, path } = await loadConfig(options);
    const faults = await findStartFaults(config);
    const missing = await missingSecretWarnings(config);
    return { path, faults: faults.map((message) => ({ message })), warnings: [...warnings, ...missing] };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const { path, warnings } = error;
    // the file was named by another flag than the one that the loader knows
    const faults = error.faults.map(({ flag, ...fault }) =>
      flag === undefined || flag === "-config" ? fault : { ...fault, flag }
    );
    return { path, faults, warnings };
  }
}
