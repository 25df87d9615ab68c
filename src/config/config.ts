import type { ParsedConfig } from "./config_schema.ts";
import type { PipelineConfig } from "./pipeline_settings.ts";
import type { Vendors } from "./vendors.ts";

type ParsedDatabase = ParsedConfig["databases"][number];

/** A database with its servers in one form: `hosts` holds `host` and `port` too, and is empty for an embedded one. */
export type DatabaseConfig = Omit<ParsedDatabase, "host" | "port" | "hosts"> & {
  hosts: { host: string; port: number }[];
};

/**
 * The configuration that a server runs on: file, environment, flags and defaults together. Names are the file's own;
 * durations and timeouts are in milliseconds, sizes in bytes, `http.address` is a `ListenAddress`, paths are absolute.
 */
export type Config = Omit<ParsedConfig, "databases" | "pipelines" | "defaults" | "api_keys"> & {
  databases: DatabaseConfig[];
  pipelines: PipelineConfig[];
  /** Where libpq looks for passwords that are given nowhere else; absent where no home folder is known. */
  pass_file?: string;
  vendors: Vendors;
};
