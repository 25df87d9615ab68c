/** How the server names itself to MCP clients. */
export interface ServerInfo {
  readonly name: string;
  readonly title: string;
  readonly version: string;
}

/** What every MCP client is told at the start, for its model. */
export const instructions =
  "Read-only access to PostgreSQL databases. Call list_databases to see which you may use, get_schema_info for their " +
  "tables and columns, then query_database with SQL or a request in words. Nothing can be written.";
