import { type HostileStatement, named } from "./hostile_statement.ts";

export const copies: readonly HostileStatement[] = [
  ...named([
    "COPY orders TO '@dir@_copy'",
    "COPY (SELECT * FROM orders) TO '@dir@_copy'",
    "COPY (SELECT 1) TO PROGRAM 'touch @dir@_copy'",
    "COPY orders TO PROGRAM 'touch @dir@_copy'",
    "COPY orders FROM '@canary@'",
    "COPY orders FROM PROGRAM 'cat @canary@'",
    "COPY orders TO STDOUT",
    "COPY orders FROM STDIN",
    "COPY orders (customer) FROM '@canary@' WITH (FORMAT csv)",
    "COPY (DELETE FROM orders RETURNING *) TO STDOUT",
    "copy orders to program $$touch @dir@_copy$$",
    "COPY BINARY orders TO '@dir@_copy'",
    "/**/COPY/**/(SELECT 1)/**/TO/**/'@dir@_copy'",
  ], "is not a read"),
  { name: "COPY as a common table expression", sql: "WITH c AS (COPY orders TO STDOUT) SELECT 1" },
  {
    name: "a foreign table that reads a file",
    sql: "SELECT * FROM canary_file",
    refusedWith: "file_fdw_handler",
  },
  { name: "one that runs a program", sql: "SELECT * FROM canary_program", refusedWith: "file_fdw_handler" },
  { name: "a partition that reads a file", sql: "SELECT * FROM mixed", refusedWith: "file_fdw_handler" },
  { name: "a view over it", sql: "SELECT * FROM canary_view", refusedWith: "file_fdw_handler" },
];
