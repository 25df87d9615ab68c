import { z } from "zod";
import { filePath, integer, section } from "./field_types.ts";
import { builtins } from "./schema/builtins.ts";
import { databases } from "./schema/databases.ts";
import { http } from "./schema/http.ts";
import { embedding, llm } from "./schema/llm.ts";
import { audit } from "./schema/audit.ts";
import { log } from "./schema/log.ts";
import { pipelines } from "./schema/pipelines.ts";
import { apiKeys, defaults, server } from "./schema/rag.ts";

/** The whole file. Names are the file's own; parsed durations are in milliseconds and parsed sizes in bytes. */
export const configSchema = section({
  http: http.prefault({}),
  databases: databases.prefault([]),
  max_connections: integer(1, 100_000).prefault(100)
    .describe("Connections to all databases together; the longest idle closes first"),
  log: log.prefault({}),
  audit: audit.prefault({}),
  data_dir: filePath().optional().describe("Folder for what outlives a restart"),
  custom_definitions_path: filePath().optional().describe("File of prompts and resources of your own"),
  llm: llm.prefault({}),
  embedding: embedding.optional(),
  builtins: builtins.prefault({}),
  server: server.prefault({}),
  api_keys: apiKeys.optional(),
  defaults: defaults.optional(),
  pipelines: pipelines.prefault([]),
});

export type ParsedConfig = z.output<typeof configSchema>;

/** JSON Schema of the configuration file, for editors that complete and check it. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  return { title: "Postern's configuration file", ...z.toJSONSchema(configSchema, { io: "input" }) };
}
