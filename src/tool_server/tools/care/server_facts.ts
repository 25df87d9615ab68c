import { AppError } from "../../../core/app_error.ts";
import type { Database } from "../../../postgres/database.ts";
import type { CallContext } from "../../call_context.ts";
import type { ServerFacts } from "./health/health_check.ts";
import { readOwn } from "./read_own.ts";

const sql = `
select json_build_object(
  'version', current_setting('server_version_num')::int,
  'role', current_user,
  'readsAllStats', pg_has_role(current_user, 'pg_read_all_stats', 'USAGE'),
  'isStandby', pg_is_in_recovery(),
  'statsSince', coalesce(to_char(d.stats_reset at time zone 'UTC', 'YYYY-MM-DD'), ''),
  'statsDays', extract(epoch from clock_timestamp() - d.stats_reset)::float8 / 86400)
from pg_stat_database d where d.datname = current_database()`;

/** @throws {AppError} `upstream` where the server does not tell */
export async function readFacts(database: Database, context: CallContext): Promise<ServerFacts> {
  const result = await readOwn(database, context, sql);
  const json = result.ok ? result.rows[0]?.[0] : undefined;
  if (typeof json === "string") return JSON.parse(json);
  const reason = result.ok ? "its statistics are not there" : result.reason;
  throw new AppError("upstream", `Cannot look after database "${database.name}": ${reason}`);
}
