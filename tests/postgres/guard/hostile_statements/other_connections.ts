import { type HostileStatement, named } from "./hostile_statement.ts";

export const otherConnections: readonly HostileStatement[] = [
  ...named([
    "SELECT dblink_exec('@dsn@', 'INSERT INTO loot VALUES (1)')",
    "SELECT * FROM dblink('@dsn@', 'DELETE FROM orders RETURNING 1') AS t (a int)",
    "SELECT public.dblink_exec('@dsn@', 'INSERT INTO loot VALUES (1)')",
    `SELECT "dblink_exec"('@dsn@', $$INSERT INTO loot VALUES (1)$$)`,
    "SELECT dblink_connect('c', '@dsn@')",
    "SELECT dblink_connect_u('c', '@dsn@')",
    "SELECT dblink_send_query('c', 'DELETE FROM orders')",
    "SELECT dblink_open('c', 'SELECT 1')",
    "SELECT dblink_get_connections()",
    "SELECT dblink_disconnect('c')",
    "SELECT * FROM orders WHERE dblink_exec('@dsn@', 'INSERT INTO loot VALUES (1)') IS NULL",
    "SELECT postgres_fdw_disconnect_all()",
    "SELECT pg_background_launch('DELETE FROM orders')",
  ], "another connection"),
  ...named(["SELECT cron.schedule('* * * * *', 'DELETE FROM orders')"], "schedules jobs"),
  ...named(["SELECT net.http_post('http://127.0.0.1/', '{}')"], "network"),
  ...named(["SELECT aws_s3.query_export_to_s3('SELECT 1', 'b', 'k')"], "other services"),
];
