import { queryLimits } from "../rag_server/query_limits.ts";
import { settingsOf, type ValueMap } from "../core/yaml/value_tree.ts";
import { type PlaceOf, settingAt } from "../core/yaml/file_fault.ts";

/**
 * Settings of pgEdge's two servers that Postern does not need, and what is in their place. `[]` is every element
 * of a list.
 */
const deprecatedSettings: Readonly<Record<string, string>> = {
  "secret_file":
    "Postern encrypts no passwords; give them as databases[].password, POSTERN_DB_PASSWORD or ~/.pgpass",
  "trace_file": "use log.level: debug and log.format: json instead",
  ...Object.fromEntries(
    [
      "database_path",
      "embedding_provider",
      "embedding_model",
      ...["voyage", "openai"].flatMap((vendor) =>
        ["api_key", "api_key_file", "base_url"].map((part) => `embedding_${vendor}_${part}`)
      ),
      "embedding_ollama_url",
    ].map((key) => [
      `knowledgebase.${key}`,
      "the knowledgebase is a pipeline, with tables and an embedding_llm of its own; name it in knowledgebase.pipeline",
    ]),
  ),
  "identity.allow_shared_vector_index":
    "questions of callers with rows of their own use no index over the rows of all",
  "http.auth.oauth.login_page.template_file":
    "the login page is Postern's own; http.auth.oauth.login_page sets its title, message, logo and colour",
  ...Object.fromEntries(["subtitle", "footer", "favicon_file", "secondary_colour"].map((key) => [
    `http.auth.oauth.login_page.${key}`,
    "the login page has a title, a message, a logo and one colour",
  ])),
  "http.client_ip.source": "set http.client_ip.header and trusted_proxies to have the header read",
  "databases[].allow_writes": "every database is read-only",
  "databases[].allow_llm_switching":
    "databases[].available_to_users and a token's database decide who may use a database",
  "databases[].allowed_pl_languages": "databases[].allowed_functions names the functions that may be called",
  "databases[].pool_min_conns": "connections open when they are needed",
  "databases[].pool_health_check_period": "a connection that is broken is replaced when it is needed",
  "databases[].pool_max_conn_lifetime": "databases[].pool_max_conn_idle_time closes connections",
  "databases[].metadata_ttl": "there is no setting for how long the catalog is kept",
  "pipelines[].search.bm25_max_documents": "keywords are ranked in the database, without reading its rows",
};

/** Takes those keys out of a configuration; returns one warning for each that was there. */
export function takeDeprecatedSettings(tree: ValueMap, place: PlaceOf): string[] {
  return Object.entries(deprecatedSettings).flatMap(([pattern, instead]) =>
    settingsOf(tree, pattern).map(({ holder, key, path }) => {
      delete holder[key];
      return `${settingAt(path, place)} is not used: ${instead}`;
    })
  );
}

/** Settings that files for pgEdge's RAG server may set higher than Postern goes, and how high it goes. */
const highest: Readonly<Record<string, number>> = {
  "defaults.top_n": queryLimits.topN,
  "pipelines[].top_n": queryLimits.topN,
};

/** Lowers what is higher; returns one warning for each such setting. */
export function clampSettings(tree: ValueMap, place: PlaceOf): string[] {
  return Object.entries(highest).flatMap(([pattern, most]) =>
    settingsOf(tree, pattern).flatMap(({ holder, key, path }) => {
      const value = holder[key];
      if (typeof value !== "number" || !Number.isInteger(value) || value <= most) return [];
      holder[key] = most;
      return [`${settingAt(path, place)}: ${value} is lowered to ${most}, the highest value allowed`];
    })
  );
}
