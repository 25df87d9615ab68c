import type { Logger } from "../core/logger.ts";
import type { AuditTrail } from "../audit/audit_trail.ts";
import type { Principal } from "../core/principal.ts";
import { createInFlight, type InFlight } from "../tool_server/mcp/in_flight.ts";
import type { ServerInfo } from "../tool_server/mcp/json_rpc.ts";
import { createConnectionPools } from "../postgres/pool/connection_pools.ts";
import { createDatabase, type Database } from "../postgres/database.ts";
import { createStatementChecks } from "../postgres/guard/statement_checks.ts";
import { historyOwner } from "../tool_server/questions/history.ts";
import { countRows } from "../tool_server/tools/count_rows.ts";
import {
  createDatabaseDirectory,
  listDatabases,
  selectDatabase,
} from "../tool_server/tools/database_directory.ts";
import { executeExplain } from "../tool_server/tools/execute_explain.ts";
import { forget } from "../tool_server/tools/forget.ts";
import { getSchemaInfo } from "../tool_server/tools/get_schema_info.ts";
import { logout } from "../tool_server/tools/logout.ts";
import { queryDatabase } from "../tool_server/tools/query_database.ts";
import { type CallReport, createRegistry, type Registry } from "../tool_server/tools/registry.ts";
import { answerQuestions, type WordsOptions } from "./answer_questions.ts";
import { auditCalls } from "../tool_server/audit_calls.ts";
import type { OpenDatabase } from "./open_databases.ts";

export interface ToolServerOptions {
  readonly databases: readonly OpenDatabase[];
  readonly maxConnections: number;
  /** Absent where requests in words are not answered. */
  readonly words?: WordsOptions;
  /** Says whether a tool is listed and may be called. */
  readonly offers: (tool: string) => boolean;
  /** Ends the session that asks for it. */
  readonly endSession?: (id: string) => void;
  readonly audit?: AuditTrail;
  /** Told of each call that has ended. */
  readonly onCall: (report: CallReport) => void;
  readonly serverInfo: ServerInfo;
  readonly logger: Logger;
}

/** The tools over the databases, before any transport. */
export interface ToolServer extends AsyncDisposable {
  readonly registry: Registry;
  readonly inFlight: InFlight;
  readonly serverInfo: ServerInfo;
  readonly databases: readonly Database[];
  /**
   * Puts other databases in the place of those there are. One whose options are the same object stays as it is; statements
   * of one that goes away or changes end as they would have. Returns what is new.
   */
  replaceDatabases(databases: readonly OpenDatabase[]): readonly Database[];
  /** Closes the connections of a token or a session that has ended, and forgets what it chose. */
  endPrincipal(principal: Principal): void;
}

export async function createToolServer(options: ToolServerOptions): Promise<ToolServer> {
  const { maxConnections, words, serverInfo, logger } = options;
  const guard = await createStatementChecks();
  const pools = createConnectionPools({ maxConnections, logger });
  const opened = new WeakMap<OpenDatabase["options"], Database>();
  const entryOf = ({ options: database, availableToUsers }: OpenDatabase) => {
    const reader = opened.get(database) ?? createDatabase({ options: database, pools, guard, logger });
    opened.set(database, reader);
    return { name: database.name, available_to_users: availableToUsers, database: reader };
  };
  // the directory looks at the list in each call
  const entries = options.databases.map(entryOf);
  const directory = createDatabaseDirectory(entries);
  const inFlight = createInFlight();
  const answerer = words && answerQuestions(words, { guard, logger });
  const account = options.audit && auditCalls(options.audit, guard.fingerprint);
  const registry = createRegistry({
    tools: [
      queryDatabase({
        directory,
        guard,
        ...(answerer === undefined ? {} : { answerQuestion: answerer.answerQuestion }),
      }),
      getSchemaInfo({ directory }),
      countRows({ directory }),
      executeExplain({ directory }),
      listDatabases({ directory }),
      selectDatabase({ directory }),
      ...(words === undefined ? [] : [forget({ history: words.history })]),
      ...(options.endSession === undefined ? [] : [logout({ endSession: options.endSession })]),
    ].filter((tool) => options.offers(tool.description.name)),
    onCall(report) {
      options.onCall(report);
      return account?.(report);
    },
  });
  return {
    registry,
    inFlight,
    serverInfo,
    get databases() {
      return entries.map(({ database }) => database);
    },
    replaceDatabases(databases) {
      const before = new Set(entries.map(({ database }) => database));
      entries.splice(0, entries.length, ...databases.map(entryOf));
      return entries.map(({ database }) => database).filter((database) => !before.has(database));
    },
    endPrincipal(principal) {
      inFlight.cancelPrincipal(principal);
      directory.end(principal);
      // a user's history is there at the next login; a token that has ended has none
      if (principal.kind === "token") words?.history.forget(historyOwner(principal));
      void pools.closePrincipal(principal);
    },
    async [Symbol.asyncDispose]() {
      answerer?.[Symbol.dispose]();
      guard[Symbol.dispose]();
      await pools.close();
    },
  };
}
