import type { ForeignPart } from "./syntax_tree.ts";

const onlyReads = "only SELECT, VALUES, TABLE, WITH of those, EXPLAIN and SHOW run here";

/** What a caller would call the statements whose node is named otherwise. */
const commands: Readonly<Record<string, string>> = {
  AlterSystemStmt: "ALTER SYSTEM",
  CallStmt: "CALL",
  CheckPointStmt: "CHECKPOINT",
  ClosePortalStmt: "CLOSE",
  ConstraintsSetStmt: "SET CONSTRAINTS",
  CopyStmt: "COPY",
  CreateTableAsStmt: "CREATE TABLE AS",
  DeclareCursorStmt: "DECLARE",
  DiscardStmt: "DISCARD",
  DoStmt: "DO",
  GrantRoleStmt: "GRANT",
  ReindexStmt: "REINDEX",
  RefreshMatViewStmt: "REFRESH MATERIALIZED VIEW",
  TransactionStmt: "a transaction command (BEGIN, COMMIT, ROLLBACK, SAVEPOINT)",
  VacuumStmt: "VACUUM or ANALYZE",
  VariableSetStmt: "SET or RESET",
};

/** Why a part of a tree is no read, and what to do about it. */
export function describeForeignPart({ type, field }: ForeignPart): string {
  if (field === "intoClause") return "SELECT INTO makes a table; leave out INTO and the rows are returned";
  if (field === "lockingClause") return "FOR UPDATE and FOR SHARE lock rows; leave the clause out";
  if (type === "ParamRef") return "parameters such as $1 have no value here; write the value itself";
  if (field !== undefined) return `the clause "${field}" of ${type} is not known to be a read; leave it out`;
  if (!type.endsWith("Stmt")) return `the construct ${type} is not known to be a read; write it another way`;
  return `${commands[type] ?? commandOf(type)} is not a read; ${onlyReads}`;
}

/** `InsertStmt` is INSERT, `AlterTableStmt` ALTER TABLE. */
function commandOf(type: string): string {
  return type.slice(0, -"Stmt".length).replace(/([a-z])([A-Z])/g, "$1 $2").toUpperCase();
}
