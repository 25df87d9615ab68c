import { AppError } from "../core/app_error.ts";
import type { ServerInfo } from "../tool_server/mcp/methods.ts";
import type { Output } from "./output.ts";
import type { Operation } from "./flags.ts";
import { parseFlags, UsageError } from "./parse_flags.ts";

/**
 * Does what a command line asks for and resolves with the exit code: 0, 1 for an operation that failed, 2 for a command
 * line that cannot be understood, 3 for an audit trail whose end nobody can tell, and for a
 * statement that a database decides about.
 */
export async function runCommandLine(
  args: readonly string[],
  program: ServerInfo,
  output: Output,
): Promise<number> {
  try {
    return await perform(args, program, output) ?? 0;
  } catch (error) {
    const isUsage = error instanceof UsageError;
    if (!isUsage && !(error instanceof AppError)) throw error;
    output.warn(`${program.name}: ${error.message}`);
    return isUsage ? 2 : 1;
  }
}

/** Those that open pipelines, whose models ONNX Runtime's library may run. */
const opensModels: ReadonlySet<Operation> = new Set(
  [
    "run",
    "ingest",
    "index-pipeline",
    "drop-index",
    "evaluate",
    "reembed",
    "watch-pipeline",
    "setup-watch",
    "doctor",
    "check-config",
  ],
);

/** Those that read no configuration, or open nothing that it names. */
const startNothing: ReadonlySet<Operation> = new Set([
  ...["help", "version", "config-schema", "openapi", "check-statement", "verify-audit"] as const,
  ...["pull", "probe", "check-config", "init"] as const,
]);

/**
 * Each operation loads only its own part of the program, since loading is most of the time that a short one takes.
 * Resolves with the exit code where an operation has one of its own.
 */
async function perform(
  args: readonly string[],
  program: ServerInfo,
  output: Output,
): Promise<number | void> {
  const flags = parseFlags(args);
  const { print } = output;
  // those that read no configuration start nothing; of the others see `giveUpPermissions`
  const giveUpRun = () => Deno.permissions.revoke({ name: "run" });
  if (startNothing.has(flags.operation)) await giveUpRun();
  if (!opensModels.has(flags.operation)) await Deno.permissions.revoke({ name: "ffi" });
  switch (flags.operation) {
    case "help": {
      const { helpText } = await import("./help.ts");
      return print(helpText());
    }
    case "version":
      return print(`${program.name} ${program.version} (Deno ${Deno.version.deno}, V8 ${Deno.version.v8})`);
    case "config-schema": {
      const { configJsonSchema } = await import("../config/schema/config_schema.ts");
      return print(JSON.stringify(configJsonSchema(), null, 2));
    }
    case "openapi": {
      const { ragOpenApi } = await import("../rag_server/api/rag_openapi.ts");
      return print(JSON.stringify(ragOpenApi(program.version), null, 2));
    }
    case "check-statement": {
      const { checkStatement } = await import("./operations/check_statement_operation.ts");
      return await checkStatement(flags.subject, flags, print);
    }
    case "verify-audit": {
      const { verifyAuditFiles } = await import("./operations/audit_operation.ts");
      const files = [flags.subject, ...flags.paths];
      return await verifyAuditFiles({ files, json: flags.json }, print);
    }
    case "pull": {
      const { filesToPull, pull } = await import("./operations/pull_operation.ts");
      const { processEnvironment } = await import("../config/load_config.ts");
      const files = filesToPull(flags, processEnvironment().env["HF_ENDPOINT"]);
      for (const file of files) await pull(file, print);
      return;
    }
    case "probe": {
      const { probe } = await import("./operations/probe_operation.ts");
      return await probe(flags.subject);
    }
  }
  const { loadConfig, processEnvironment } = await import("../config/load_config.ts");
  if (flags.operation === "check-config") {
    const { checkConfig } = await import("./operations/check_config_operation.ts");
    return await checkConfig({ ...processEnvironment(), flags }, flags, print);
  }
  if (flags.operation === "init") {
    const { init } = await import("./operations/init_operation.ts");
    return await init(flags, processEnvironment(), print);
  }
  const load = () => loadConfig({ ...processEnvironment(), flags });
  const { config, warnings, path } = await load();
  const { startsPrograms } = await import("../app/processes/runtime.ts");
  // a server may start others like it, and `-ingest` looks itself what it starts
  if (flags.operation !== "run" && flags.operation !== "ingest" && !startsPrograms(config)) await giveUpRun();
  if (flags.operation === "run") {
    const { demo, rag } = flags;
    const reload = path === undefined ? {} : { reload: { path, load } };
    const { run } = await import("../app/run.ts");
    return await run({ config, warnings, rag, demo, serverInfo: program, args, print, ...reload });
  }
  const warn = (line: string) => output.warn(`${program.name}: warning: ${line}`);
  warnings.forEach(warn);
  const { administer } = await import("./administer.ts");
  return await administer(flags, config, { print, warn });
}
