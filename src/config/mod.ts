export type { Config, DatabaseConfig } from "./config.ts";
export type { OwnProcess, VendorKey, Vendors } from "./environment_variables.ts";
export { childVariable, configVariable } from "./environment_variables.ts";
export type { Fault } from "./fault.ts";
export { ConfigError, faultText } from "./fault.ts";
export type { ConfigFlags, LoadedConfig, LoadOptions } from "./load_config.ts";
export { loadConfig, processEnvironment } from "./load_config.ts";
export type {
  CompletionSettings,
  PipelineConfig,
  ProviderSettings,
  RowSecurity,
} from "./pipeline_settings.ts";
export { defaultVectorWeight, modelName, sourcesOfOthers } from "./pipeline_settings.ts";
export { changedAtStartOnly, readWhen } from "./reloaded_settings.ts";
export type { AuthConfig } from "./schema/auth.ts";
export { offers } from "./schema/builtins.ts";
export { noName } from "./schema/identity.ts";
export { configJsonSchema } from "./schema/config_schema.ts";
export type { FlagSetting } from "./overrides.ts";
export type { Setting } from "./schema/settings_table.ts";
export { listSettings } from "./schema/settings_table.ts";
export { writtenSetting } from "./load_config.ts";
