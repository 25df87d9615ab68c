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

type Items = readonly Item[];

/** While it embeds, a worker says so often that it still does. */
const beatMs = 10_000;
/** A text that failed alone so often counts as refused. */
const mostAttempts = 5;
const longestReason = 500;
/** Where the provider takes this, another text that it does not take is at fault. */
const knownText = "text";
/** With these, all rows wait. */
const kindsOfAll: readonly ProviderErrorKind[] = ["credentials", "rate_limit", "unreachable", "unsupported"];

/**
 * The statements of a batch. But for the first, which claims `$1` rows at most, `$1` is items in JSON. `q` is the queue, and
 * a row of it or of the table `t` that another transaction has locked is left out: nothing waits for a lock.
 */
function statementsOf({ name, relation, key, schema, textColumn, vectorColumn }: WatchedColumn) {
  const [ofName, vector] = [quoteLiteral(name), quoteIdentifier(vectorColumn)];
  const digest = `md5(coalesce(t.${textColumn}::text, ''))`;
  // a worker that was killed keeps its rows from the others for so long
  const claimed = "clock_timestamp() + interval '30 seconds'";
  const items =
    "json_to_recordset($1::json) AS i(key text, change bigint, attempts int, digest text, vector text)";
  const queued = `(SELECT w.key, w.change = i.change AS is_same FROM ${queueTable} w JOIN ${items}
      ON w.key = i.key WHERE w.name = ${ofName} AND w.reason IS NULL FOR UPDATE OF w SKIP LOCKED) n
    WHERE q.name = ${ofName} AND q.key = n.key`;
  const update = (set: string) => `UPDATE ${queueTable} q SET ${set} FROM ${queued}`;
  return {
    claim: `UPDATE ${queueTable} q SET not_before = ${claimed} FROM (
        SELECT key FROM ${queueTable} WHERE name = ${ofName} AND reason IS NULL AND not_before <= clock_timestamp()
        ORDER BY not_before LIMIT $1 FOR UPDATE SKIP LOCKED) n
      WHERE q.name = ${ofName} AND q.key = n.key RETURNING q.key, q.change, q.attempts`,
    // two claims at once would lock, for a moment, each other's rows, and `finish` leaves out rows that are locked
    claimAlone: `SELECT pg_advisory_xact_lock(hashtextextended(${quoteLiteral(`postern embed ${name}`)}, 0))`,
    read: `SELECT i.key, i.change, i.attempts, coalesce(t.${textColumn}::text, ''), ${digest}
      FROM ${items} JOIN ${relation} t ON t.${key.column} = i.key::${key.type}`,
    renew: update(`not_before = ${claimed}`),
    /** Rows that still have their text. */
    write: `WITH held AS MATERIALIZED (SELECT t.${key.column} AS id, i.* FROM ${items}
        JOIN ${relation} t ON t.${key.column} = i.key::${key.type} AND ${digest} = i.digest FOR UPDATE OF t SKIP LOCKED)
      UPDATE ${relation} t SET ${vector} = h.vector::${schema}.vector FROM held h
      WHERE t.${key.column} = h.id AND ${digest} = h.digest RETURNING h.key`,
    /** Takes off the queue what has not changed since it was claimed. */
    finish: `DELETE FROM ${queueTable} q USING ${queued} AND n.is_same`,
    setAside: (reason: string) => `${update(`reason = ${quoteLiteral(reason)}`)} AND n.is_same`,
    countError: update("attempts = q.attempts + 1"),
    // what failed alone waits for 1, 2, 4 … seconds; what changed or was locked as long as it has waited, up to 10
    release: update(`not_before = clock_timestamp() + CASE q.attempts WHEN 0
      THEN least(greatest(clock_timestamp() - q.since, '1 second'), '10 seconds')
      ELSE least(power(2, q.attempts - 1), 60) * interval '1 second' END`),
  };
}

/**
 * Claims rows of a queue, embeds their texts and writes the vectors. A row that changed meanwhile, or is being changed, gets
 * no vector of its old text and is left in the queue. One whose text the provider refuses, while it takes another, is set
 * aside with the reason and without a vector; so is one whose vector the table refuses, and one at which the provider has
 * failed alone too often.
 *
 * @returns how many rows it took and embedded, and how many to take next
 * @throws {ProviderError} where the provider fails at any text, {AppError} where the database does, or the model's vectors
 * do not fit; then the rows are in the queue again
 */
export async function embedBatch({ session, column, embedding, logger, ...options }: BatchOptions) {
  const sql = statementsOf(column);
  /** What this worker has claimed and not finished, each with how many rows of the table have the key. */
  const open = new Map<string, number>();
  const lost = new AbortController();
  const signal = AbortSignal.any([options.signal, lost.signal]);
  let { dimensions } = column;
  let isProviderWell = false;
  /** Rows that the provider took at once, and whether it failed at more. */
  let [mostTaken, isSplit] = [0, false];

  const json = (items: readonly Partial<Item>[]) => JSON.stringify(items.map(({ text: _, ...item }) => item));
  const withItems = async (statement: string, items: readonly Partial<Item>[]) =>
    items.length === 0 ? [] : await session.query(statement, [json(items)]);
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
  async function claim(): Promise<Items> {
    const claimed = await transaction(session, async () => {
      await session.query(sql.claimAlone);
      return await session.query(sql.claim, [options.rows]);
    });
    const keys = claimed.map(([key, change, attempts]) => ({ key, change, attempts }) as Item);
    for (const { key } of keys) open.set(key, 0);
    const rows = keys.length === 0 ? [] : await overAllRows(() => withItems(sql.read, keys));
    const items = rows.map(([key, change, attempts, text, digest]) =>
      ({ key, change, attempts, text, digest }) as Item
    );
    for (const { key } of items) open.set(key, (open.get(key) ?? 0) + 1);
    await withItems(sql.finish, keys.filter(({ key }) => open.get(key) === 0));
    return items;
  }

  async function write(part: Items): Promise<void> {
    const left = new Map(open);
    await overAllRows(async () => {
      for (const [key] of await withItems(sql.write, part)) {
        left.set(key ?? "", (left.get(key ?? "") ?? 0) - 1);
      }
      await withItems(sql.finish, part.filter(({ key }) => left.get(key) === 0));
    });
    for (const [key, rows] of left) open.set(key, rows);
  }

  async function embed(part: Items): Promise<void> {
    const vectors = await vectorsOf(part.map(({ text }) => text));
    mostTaken = Math.max(mostTaken, part.length);
    await inParts(part.map((item, at) => ({ ...item, vector: `[${vectors[at]?.join(",")}]` })), write);
  }

  /** Renews the claims while the provider works; where that fails, gives the work up, as others may have it. */
  async function vectorsOf(texts: readonly string[]): Promise<readonly Float32Array[]> {
    // a breaker would hold up the other rows, and those of other tables
    const asked = embedding.embed({ texts, purpose: "document", signal, isUnguarded: true });
    let beat: Promise<unknown> = Promise.resolve();
    const renew = () => withItems(sql.renew, openItems());
    const timer = setInterval(() => beat = beat.then(renew).catch((error) => lost.abort(error)), beatMs);
    const { vectors } = await asked.finally(() => {
      clearInterval(timer);
      return beat;
    });
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

  /** Does work for all items at once, and where some of them are its fault, for ever fewer, until these are set aside. */
  async function inParts(part: Items, work: typeof write | typeof embed): Promise<void> {
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
        await inParts(part.slice(middle), work);
      } else if (mayPass && Number(first.attempts) + 1 < mostAttempts) {
        await withItems(sql.countError, part);
      } else await setAside(first, error);
    }
  }

  async function setAside(item: Item, error: AppError): Promise<void> {
    const reason = error instanceof ProviderError ? `${error.message}: ${error.detail}` : error.message;
    await overAllRows(async () => {
      const held = await withItems(sql.write, [{ ...item, vector: null }]);
      if (held.length === 0) return;
      await withItems(sql.setAside(reason.replaceAll("\0", "").slice(0, longestReason)), [item]);
    });
    logger.warn("A row is set aside, without an embedding", { id: item.key, reason });
  }

  try {
    const items = await claim();
    const isBlank = ({ text }: Item) => text.trim() === "";
    const texts = items.filter((item) => !isBlank(item));
    await inParts(items.filter(isBlank).map((item) => ({ ...item, vector: null })), write);
    await inParts(texts.filter(({ attempts }) => attempts === "0"), embed);
    // what failed alone would fail together with others
    for (const item of texts.filter(({ attempts }) => attempts !== "0")) await inParts([item], embed);
    const nextRows = 2 * (isSplit ? Math.max(mostTaken, 1) : options.rows);
    return { taken: open.size, done: open.size - openItems().length, nextRows };
  } finally {
    await session.restore(sql.release.replace("$1", () => quoteLiteral(json(openItems()))));
  }
}

/** Whether what some of the items hold may be at fault, for the provider or the table. */
function isOfItems(error: AppError): boolean {
  if (error instanceof ProviderError) return !kindsOfAll.includes(error.kind);
  return error.code === "invalid" || /^2[23]/.test(String(sqlStateOf(error)));
}
