import { fileOfProcess } from "../core/files/file_of_process.ts";
import type { Config } from "./config.ts";
import type { OwnProcess } from "./environment_variables.ts";
import type { Fault } from "./fault.ts";
import { defaultPipelineConnections } from "./pipeline_settings.ts";
import type { ParsedConfig } from "./schema/config_schema.ts";
import type { Locate } from "./schema/schema_faults.ts";

type Numbers = NonNullable<Config["limits"]["all"]>;

/**
 * What one of several processes has of a configuration: its share of each bound, since those are the machine's; an audit
 * trail of its own; and nothing of what its parent does for all.
 */
export function configOfProcess(config: Config, own: OwnProcess | undefined): Config {
  if (own === undefined) return config;
  const { notify_socket: _, ...rest } = config;
  const { http, server, limits, admission, audit } = rest;
  const share = (total: number) => Math.max(1, Math.floor((total + own.of - own.number) / own.of));
  const sharedNumbers = (numbers: Numbers): Numbers => {
    const { calls_at_once: total } = numbers;
    return total === undefined ? numbers : { ...numbers, calls_at_once: share(total) };
  };
  const sharedByName = (names: Record<string, Numbers>) =>
    Object.fromEntries(Object.entries(names).map(([name, numbers]) => [name, sharedNumbers(numbers)]));
  return {
    ...rest,
    own_process: own,
    http: { ...http, address: { ...http.address, port: own.ports.http } },
    server: {
      ...server,
      address: { ...server.address, port: own.ports.server },
      max_queries: share(server.max_queries),
    },
    max_connections: share(config.max_connections),
    databases: config.databases.map((database) => ({
      ...database,
      pool_max_conns: share(database.pool_max_conns),
    })),
    pipelines: config.pipelines.map((pipeline) => ({
      ...pipeline,
      database: {
        ...pipeline.database,
        pool_max_conns: share(pipeline.database.pool_max_conns ?? defaultPipelineConnections),
      },
    })),
    // 0: nobody waits
    admission: { ...admission, max_waiting: admission.max_waiting && share(admission.max_waiting) },
    limits: {
      ...limits,
      ...(limits.default && { default: sharedNumbers(limits.default) }),
      ...(limits.all && { all: sharedNumbers(limits.all) }),
      ...(limits.principals && { principals: sharedByName(limits.principals) }),
      ...(limits.groups && { groups: sharedByName(limits.groups) }),
    },
    ...(audit.file !== undefined && { audit: { ...audit, file: fileOfProcess(audit.file, own.number) } }),
  };
}

/** What several processes cannot be on a system, or with the rest of the settings. */
export function processFaults(
  { processes, max_connections: connections, databases }: Pick<
    ParsedConfig,
    "processes" | "max_connections" | "databases"
  >,
  os: typeof Deno.build.os,
  locate: Locate,
): Fault[] {
  if (processes === 1) return [];
  const faults = [
    ...(os === "linux" ? [] : [`${processes} need Linux, where processes can share a port: expected 1`]),
    ...(processes <= connections ? [] : [
      `${processes} cannot share max_connections, which is ${connections}: each needs one at least`,
    ]),
    ...databases.flatMap(({ embedded }, at) =>
      embedded === undefined ? [] : [
        `${processes} cannot share databases[${at}].embedded, which belongs to one process: expected 1`,
      ]
    ),
  ];
  return faults.map((message) => ({ path: "processes", ...locate(["processes"]), message }));
}
