export type { Config, DatabaseConfig, VendorKey, Vendors } from "./config.ts";
export { redactConfig } from "./config.ts";
export type { Fault } from "./fault.ts";
export { ConfigError, faultText, nearestName } from "./fault.ts";
export type { ConfigFlags, LoadedConfig, LoadOptions } from "./load_config.ts";
export { loadConfig, processEnvironment } from "./load_config.ts";
export type { CompletionSettings, PipelineConfig, ProviderSettings } from "./pipeline_settings.ts";
export { changedAtStartOnly, readWhen } from "./reloaded_settings.ts";
export { offersTool } from "./schema/builtins.ts";
export { configJsonSchema } from "./schema/config_schema.ts";
export type { FlagSetting, Setting, SettingFlag } from "./schema/settings_table.ts";
export {
  configVariable,
  credentialFlags,
  databaseFlags,
  httpFlags,
  listSettings,
  logFlags,
  ragFlags,
} from "./schema/settings_table.ts";
