import { type HostileStatement, named } from "./hostile_statement.ts";

export const stackedStatements: readonly HostileStatement[] = [
  ...named([
    "SELECT 1; DROP TABLE orders",
    "SELECT 1;; DELETE FROM orders",
    "; DELETE FROM orders",
    "SELECT 1; SELECT 2",
    "SELECT 1;\n-- quiet\nUPDATE orders SET total = 0",
    "SELECT ';'; DELETE FROM orders",
    "SELECT $$;$$; DELETE FROM orders",
    "SELECT 1 /* ; */; DELETE FROM orders",
    "BEGIN; DELETE FROM orders; COMMIT",
    "SELECT 1; COMMIT; DELETE FROM orders; SELECT 1",
    "SELECT 1; ROLLBACK; DELETE FROM orders",
    "ROLLBACK; BEGIN; DELETE FROM orders; COMMIT",
  ]),
  { name: "a second statement after E''", sql: "SELECT E'\\''; DELETE FROM orders; --'" },
  { name: "a backslash that would hide a quote", sql: "SELECT '\\'; DELETE FROM orders; --'" },
  { name: "a dollar quote that ends early", sql: "SELECT $a$ $b$ $a$; DELETE FROM orders; --$b$" },
  { name: "five thousand empty statements, then a write", sql: ";".repeat(5_000) + "DELETE FROM orders" },
  {
    name: "a RETURNING in the second",
    sql: "TABLE orders; DELETE FROM orders RETURNING *",
    refusedWith: "one at a time",
  },
];
