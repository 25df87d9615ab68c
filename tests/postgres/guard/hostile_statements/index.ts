import { collectedValues } from "./collected_values.ts";
import { commentsAndEncodings } from "./comments_and_encodings.ts";
import { deepNesting } from "./deep_nesting.ts";
import { endlessAnswers } from "./endless_answers.ts";
import { filesAndLargeObjects } from "./files_and_large_objects.ts";
import { hiddenCalls } from "./hidden_calls.ts";
import type { HostileStatement } from "./hostile_statement.ts";
import { locksAndSequences } from "./locks_and_sequences.ts";
import { memory } from "./memory.ts";
import { otherConnections } from "./other_connections.ts";
import { serverSignals } from "./server_signals.ts";
import { procedural, settings, transactionControl } from "./session_commands.ts";
import { slowFunctions } from "./slow_functions.ts";
import { stackedStatements } from "./stacked_statements.ts";
import { textAsSql } from "./text_as_sql.ts";
import { userDefined } from "./user_defined.ts";
import { copies, definitions, explainOfWrites, writingQueries } from "./writes.ts";

export type { HostileStatement } from "./hostile_statement.ts";

export const hostileFamilies: Readonly<Record<string, readonly HostileStatement[]>> = {
  "stacked statements": stackedStatements,
  "comments and encodings": commentsAndEncodings,
  "transaction control": transactionControl,
  "writing queries": writingQueries,
  definitions,
  copies,
  procedural,
  "EXPLAIN of writes": explainOfWrites,
  settings,
  "files and large objects": filesAndLargeObjects,
  "other connections": otherConnections,
  "server signals": serverSignals,
  "locks and sequences": locksAndSequences,
  "text as SQL": textAsSql,
  "user-defined objects": userDefined,
  "calls that nothing names": hiddenCalls,
  memory,
  "values collected from rows": collectedValues,
  "functions that no timeout ends": slowFunctions,
  "deep nesting": deepNesting,
  "endless answers": endlessAnswers,
};
