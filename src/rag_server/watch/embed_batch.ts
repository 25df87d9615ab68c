import { AppError } from "../../core/app_error.ts";
import type { Logger } from "../../core/logger.ts";
import type { EmbeddingProvider } from "../../llm/provider.ts";
import { ProviderError, type ProviderErrorKind } from "../../llm/provider_error.ts";
import { type SqlSession, sqlStateOf, transaction } from "../../postgres/sql_session.ts";
import { nameInMessage, quoteIdentifier, quoteLiteral } from "../../postgres/sql_text.ts";
import type { WatchedColumn } from "./embedded_columns.ts";
import { queueTable } from "./watch_sql.ts";

interface BatchOptions {
  readonly session: SqlSession;
  readonly column: WatchedColumn;
  readonly embedding: EmbeddingProvider;
  /** At most. */
  readonly rows: number;
  /** Ends what the provider and the database are asked for. */
  readonly signal: AbortSignal;
  readonly logger: Logger;
}

/** A text that waits for its vector. */
interface Item {
  readonly key: string;
  /** The number of the row's last change when it was claimed. */
  readonly change: string;
  /** How often the provider failed at it alone. */
  readonly attempts: string;
  readonly text: string;
  readonly digest: string;
  /** As pgvector writes it; null for a text with nothing to embed. */
  readonly vector?: string | null;
}

/** A worker that was killed keeps its rows from the others for so long. */
const claimedSql = "clock_timestamp() + interval '30 seconds'";
/** While it embeds, a worker says so often that it still does. */
const beatMs = 10_000;
/** What failed alone waits for 1, 2, 4 … seconds; what changed or was locked as long as it has waited, up to 10. */
const againSql = `clock_timestamp() + CASE q.attempts WHEN 0
  THEN least(greatest(clock_timestamp() - q.since, '1 second'), '10 seconds')
  ELSE least(power(2, q.attempts - 1), 60) * interval '1 second' END`;
/** A text that failed alone so often counts as refused. */
const mostAttempts = 5;
const longestReason = 500;
/** Where the provider takes this, another text that it does not take is at fault. */
const knownText = "text";
/** With these, all rows wait. */
const kindsOfAll: readonly ProviderErrorKind[] = ["credentials", "rate_limit", "unreachable", "unsupported"];

/** Of a parameter, in JSON. */
const itemsSql =
  "json_to_recordset($1::json) AS i(key text, change bigint, attempts int, digest text, vector text)";

/**
 * Claims rows of a queue, embeds their texts and writes the vectors. A row that changed meanwhile, or is being changed, gets
 * no vector of its old text and is left in the queue. One whose text the provider refuses, while it takes another, is set
 * aside with the reason and without a vector; so is one whose vector the table refuses, and one at which the provider has
 * failed alone too often. It waits for no lock of a row.
 *
 * @returns how many rows it took and embedded, and how many to take next
 * @throws {ProviderError} where the provider fails at any text, {AppError} where the database does, or the model's vectors
 * do not fit; then the rows are in the queue again
 */
export async function embedBatch(options: BatchOptions) {
  const { session, column, embedding, logger } = options;
  const { relation, key: { column: keyColumn, type }, schema, textColumn } = column;
  const vector = quoteIdentifier(column.vectorColumn);
  const ofName = quoteLiteral(column.name);
  const claimKey = quoteLiteral(`postern embed ${column.name}`);
  const digest = `md5(coalesce(t.${textColumn}::text, ''))`;
  /** Rows as the items have them, which nobody else has locked. */
  const heldSql = `WITH held AS MATERIALIZED (SELECT t.${keyColumn} AS id, i.* FROM ${itemsSql}
      JOIN ${relation} t ON t.${keyColumn} = i.key::${type} AND ${digest} = i.digest FOR UPDATE OF t SKIP LOCKED)
    UPDATE ${relation} t SET ${vector} = h.vector::${schema}.vector FROM held h
    WHERE t.${keyColumn} = h.id AND ${digest} = h.digest RETURNING h.key`;
  /** Of the queue `q`, what the items name and nobody else has locked. */
  const queuedSql = `(SELECT w.key, w.change = i.change AS is_same FROM ${queueTable} w JOIN ${itemsSql}
      ON w.key = i.key WHERE w.name = ${ofName} AND w.reason IS NULL FOR UPDATE OF w SKIP LOCKED) n
    WHERE q.name = ${ofName} AND q.key = n.key`;
  /** What this worker has claimed and not finished, each with how many rows have the key. */
  const open = new Map<string, number>();
  const lost = new AbortController();
  const signal = AbortSignal.any([options.signal, lost.signal]);
  let { dimensions } = column;
  let isProviderWell = false;
  /** Rows that the provider took at once, and whether it failed at more. */
  let [mostTaken, isSplit] = [0, false];

  const withItems = (sql: string, items: readonly Partial<Item>[]) =>
    session.query(sql, [JSON.stringify(items.map(({ text: _, ...item }) => item))]);
  const openItems = () => Array.from(open).filter(([, rows]) => rows !== 0).map(([key]) => ({ key }));

  /** In a transaction that fails rather than leave out rows that this role may not see. */
  const overAllRows = <T>(work: () => Promise<T>) =>
    transaction(session, async () => {
      await session.query(
        "SELECT set_config('row_security', 'off', true), set_config('lc_monetary', 'C', true)",
      );
      return await work();
    });

  /** @returns the texts; of a row that is gone, none */
  async function claim(): Promise<readonly Item[]> {
    const claimed = await transaction(session, async () => {
      // two at once would lock, for a moment, each other's rows, and `finish` leaves out rows that are locked
      await session.query(`SELECT pg_advisory_xact_lock(hashtextextended(${claimKey}, 0))`);
      return await session.query(
        `UPDATE ${queueTable} q SET not_before = ${claimedSql} FROM (
          SELECT key FROM ${queueTable} WHERE name = ${ofName} AND reason IS NULL AND not_before <= clock_timestamp()
          ORDER BY not_before LIMIT $1 FOR UPDATE SKIP LOCKED) n
        WHERE q.name = ${ofName} AND q.key = n.key RETURNING q.key, q.change, q.attempts`,
        [options.rows],
      );
    });
    const keys = claimed.map(([key, change, attempts]) => ({ key, change, attempts }) as Item);
    for (const { key } of keys) open.set(key, 0);
    const rows = keys.length === 0 ? [] : await overAllRows(() =>
      withItems(
        `SELECT i.key, i.change, i.attempts, coalesce(t.${textColumn}::text, ''), ${digest}
        FROM ${itemsSql} JOIN ${relation} t ON t.${keyColumn} = i.key::${type}`,
        keys,
      )
    );
    const items = rows.map(([key, change, attempts, text, digest]) =>
      ({ key, change, attempts, text, digest }) as Item
    );
    for (const { key } of items) open.set(key, (open.get(key) ?? 0) + 1);
    await finish(keys.filter(({ key }) => open.get(key) === 0));
    return items;
  }

  /** Takes off the queue what has not changed since it was claimed. */
  async function finish(done: readonly Item[]): Promise<void> {
    if (done.length > 0) {
      await withItems(`DELETE FROM ${queueTable} q USING ${queuedSql} AND n.is_same`, done);
    }
  }

  async function write(part: readonly Item[]): Promise<void> {
    const left = new Map(open);
    await overAllRows(async () => {
      for (const [key] of await withItems(heldSql, part)) left.set(key ?? "", (left.get(key ?? "") ?? 0) - 1);
      await finish(part.filter(({ key }) => left.get(key) === 0));
    });
    for (const [key, rows] of left) open.set(key, rows);
  }

  async function setAside(item: Item, reason: string): Promise<void> {
    const told = quoteLiteral(reason.replaceAll("\0", "").slice(0, longestReason));
    await overAllRows(async () => {
      const held = await withItems(heldSql, [{ ...item, vector: null }]);
      if (held.length === 0) return;
      await withItems(`UPDATE ${queueTable} q SET reason = ${told} FROM ${queuedSql} AND n.is_same`, [item]);
    });
    logger.warn("A row is set aside, without an embedding", { id: item.key, reason });
  }

  async function embed(part: readonly Item[]): Promise<void> {
    const vectors = await vectorsOf(part.map(({ text }) => text));
    mostTaken = Math.max(mostTaken, part.length);
    await inParts(part.map((item, at) => ({ ...item, vector: `[${vectors[at]?.join(",")}]` })), write);
  }

  async function vectorsOf(texts: readonly string[]): Promise<readonly Float32Array[]> {
    const { vectors } = await whileClaimed(() =>
      // a breaker would hold up the other rows, and those of other tables
      embedding.embed({ texts, purpose: "document", signal, isUnguarded: true })
    );
    const length = dimensions ?? vectors[0]?.length;
    const odd = vectors.find((vector) => vector.length !== length);
    if (odd !== undefined) {
      const taken = `its column "${column.vectorColumn}" takes ${length} dimensions`;
      const reason = `${taken}, but a vector of ${embedding.name} has ${odd.length}`;
      throw new AppError("invalid", `Cannot embed table ${nameInMessage(column.table)}: ${reason}`);
    }
    dimensions = length;
    isProviderWell = true;
    return vectors;
  }

  /** Renews the claims while the provider works; where that fails, gives the work up, as others may have it. */
  async function whileClaimed<T>(work: () => Promise<T>): Promise<T> {
    let beat: Promise<unknown> = Promise.resolve();
    const renew = () =>
      withItems(`UPDATE ${queueTable} q SET not_before = ${claimedSql} FROM ${queuedSql}`, openItems());
    const timer = setInterval(
      () => beat = beat.then(renew).catch((error) => lost.abort(error)),
      beatMs,
    );
    try {
      return await work();
    } finally {
      clearInterval(timer);
      await beat;
    }
  }

  /** Does work for all items at once, and where some of them are its fault, for ever fewer, until these are set aside. */
  async function inParts(
    part: readonly Item[],
    work: (part: readonly Item[]) => Promise<void>,
  ): Promise<void> {
    const [first] = part;
    if (first === undefined) return;
    try {
      await work(part);
    } catch (error) {
      if (signal.aborted || !(error instanceof AppError) || !isOfItems(error)) throw error;
      const mayPass = error instanceof ProviderError && error.kind !== "invalid_request";
      // else the model's name may be wrong, or the provider down
      if (mayPass || !isProviderWell && work === embed) await vectorsOf([knownText]);
      if (part.length > 1) {
        isSplit ||= work === embed;
        const middle = Math.ceil(part.length / 2);
        await inParts(part.slice(0, middle), work);
        return await inParts(part.slice(middle), work);
      }
      if (mayPass && Number(first.attempts) + 1 < mostAttempts) {
        await withItems(`UPDATE ${queueTable} q SET attempts = q.attempts + 1 FROM ${queuedSql}`, [first]);
      } else {
        const detail = error instanceof ProviderError ? `: ${error.detail}` : "";
        await setAside(first, `${error.message}${detail}`);
      }
    }
  }

  try {
    const items = await claim();
    const blank = items.filter(({ text }) => text.trim() === "");
    await inParts(blank.map((item) => ({ ...item, vector: null })), write);
    const texts = items.filter((item) => !blank.includes(item));
    await inParts(texts.filter(({ attempts }) => attempts === "0"), embed);
    // what failed alone would fail together with others
    for (const item of texts.filter(({ attempts }) => attempts !== "0")) await inParts([item], embed);
    const nextRows = 2 * (isSplit ? Math.max(mostTaken, 1) : options.rows);
    return { taken: open.size, done: open.size - openItems().length, nextRows };
  } finally {
    const left = JSON.stringify(openItems());
    await session.restore(
      `UPDATE ${queueTable} q SET not_before = ${againSql} FROM ${
        queuedSql.replace("$1", () => quoteLiteral(left))
      }`,
    );
  }
}

/** Whether what some of the items hold may be at fault, for the provider or the table. */
function isOfItems(error: AppError): boolean {
  if (error instanceof ProviderError) return !kindsOfAll.includes(error.kind);
  return error.code === "invalid" || /^2[23]/.test(String(sqlStateOf(error)));
}
