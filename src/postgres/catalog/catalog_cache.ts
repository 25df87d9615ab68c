import { AppError } from "../../core/app_error.ts";
import { type Catalog, readCatalogState, type SessionFacts } from "./catalog.ts";
import type { Logger } from "../../core/logger.ts";
import type { Principal } from "../../core/principal.ts";
import { readFingerprint } from "./catalog_fingerprint.ts";
import type { Database, ReadRequest } from "../database.ts";
import { readSampleValues, type SampleValues } from "./sample_values.ts";
import { createSingleFlight, type SingleFlight } from "../../core/async/single_flight.ts";

export type CatalogCache<T> = ReturnType<typeof createCatalogCache<T>>;

type CatalogCacheRequest = Pick<ReadRequest, "principal" | "signal">;

interface CatalogSnapshot {
  readonly catalog: Catalog;
  /** Empty where samples are off. */
  readonly samples: SampleValues;
  readonly session: SessionFacts;
}

/** Two readings of a catalog, by what `prepare` made of them. */
export interface CatalogChange<T> {
  readonly database: Database;
  /** As `Database.rightsKey` gives it. */
  readonly rightsKey: string;
  readonly before: T;
  readonly after: T;
}

export interface CatalogCacheOptions<T> {
  /** Called once for each catalog that is read. */
  readonly prepare: (snapshot: CatalogSnapshot) => T | Promise<T>;
  /** Where it is absent, the contents of rows are never read. */
  readonly samples?: { readonly excludedColumns: readonly string[] };
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
  readonly logger: Logger;
  /** Told where what was read differs from what was read before by the same rights. */
  readonly onChange?: (change: CatalogChange<T>) => void;
  /** 2,000 where absent. */
  readonly checkEveryMs?: number;
  /** 64 where absent; the one used longest ago goes first. */
  readonly maxEntries?: number;
}

interface Entry<T> {
  readonly value: T;
  readonly fingerprint: string;
  /** Statistics, row counts and samples change without a change of the fingerprint. */
  readonly readAgainAt: number;
  /** When it was last known to be current. */
  readonly checkedAt: number;
}

/** All about one database and one set of rights. */
interface Place<T> {
  entry: Entry<T> | undefined;
  readonly flight: SingleFlight<T>;
}

const maxAgeMs = 30 * 60_000;
/** Of a catalog that lacks what a locked table would not tell. */
const maxIncompleteAgeMs = 30_000;

/**
 * The catalogs that questions are answered from, one for each database and each set of rights in it. A catalog is
 * served for `checkEveryMs` after it was last known to be current; then the database is asked for its fingerprint, and
 * read again where that differs. Callers wait for this, and never get the catalog from before a change that the check
 * sees: not a table that was dropped, and not one that their role may no longer read.
 *
 * Where the check or the read throws, so does the call, and the old catalog is not served: whether the rights still hold
 * is not known then, and a statement written from it would reach the same database a moment later. The old catalog is
 * kept: once the database answers again, one check is enough to serve it.
 *
 * Disposing of the cache stops what is being read, and forgets everything.
 */
export function createCatalogCache<T>(options: CatalogCacheOptions<T>) {
  const { prepare, samples, now, logger, onChange, checkEveryMs = 2_000, maxEntries = 64 } = options;
  // least recently used first
  const places = new Map<string, Place<T>>();
  const databaseNumbers = new WeakMap<Database, number>();
  let lastNumber = 0;
  let isClosed = false;

  // a configuration that is loaded again may give another database the same name
  function numberOf(database: Database): number {
    const number = databaseNumbers.get(database) ?? ++lastNumber;
    databaseNumbers.set(database, number);
    return number;
  }

  function placeOf(database: Database, principal: Principal): Place<T> {
    if (isClosed) throw new AppError("unavailable", "Cannot read a catalog: the server is stopping");
    const key = `${numberOf(database)} ${database.rightsKey(principal)}`;
    const place = places.get(key) ?? { entry: undefined, flight: createSingleFlight<T>() };
    places.delete(key);
    places.set(key, place);
    const oldest = places.keys().next();
    if (places.size > maxEntries && !oldest.done) places.delete(oldest.value);
    return place;
  }

  async function check(place: Place<T>, database: Database, request: CatalogCacheRequest): Promise<T> {
    const { entry } = place;
    const startedAt = now();
    const fingerprint = await readFingerprint(database, request);
    if (fingerprint !== entry?.fingerprint || startedAt >= entry.readAgainAt) {
      return await readAgain(place, fingerprint, database, request);
    }
    place.entry = { ...entry, checkedAt: startedAt };
    return entry.value;
  }

  async function readAgain(
    place: Place<T>,
    before: string,
    database: Database,
    request: CatalogCacheRequest,
  ): Promise<T> {
    const startedAt = now();
    const { catalog, fingerprint, isWhole, session } = await readCatalogState(database, request);
    const snapshot = {
      catalog,
      samples: samples === undefined
        ? new Map()
        : await readSampleValues(database, { ...request, ...samples, catalog }),
      session,
    };
    const value = await prepare(snapshot);
    request.signal.throwIfAborted();
    // rights may change while a statement runs, and two statements may reach two standbys: where the fingerprints
    // differ, neither is known to be the catalog's
    const maxAge = fingerprint !== before ? 0 : isWhole ? maxAgeMs : maxIncompleteAgeMs;
    const known = place.entry;
    place.entry = { value, fingerprint, readAgainAt: startedAt + maxAge, checkedAt: startedAt };
    logger.debug("read the catalog", {
      database: database.name,
      tables: catalog.tables.length,
      elapsed_ms: Math.round(now() - startedAt),
    });
    if (known !== undefined && known.fingerprint !== fingerprint) {
      onChange?.({
        database,
        rightsKey: database.rightsKey(request.principal),
        before: known.value,
        after: value,
      });
    }
    return value;
  }

  return {
    /**
     * What `prepare` made of the catalog as the caller's rights show it.
     *
     * @throws {AppError} `unavailable`, `timeout` or `upstream` where the catalog cannot be checked or read
     * @throws what `prepare` throws, and the signal's reason where it aborts
     */
    async get(database: Database, { principal, signal }: CatalogCacheRequest): Promise<T> {
      const place = placeOf(database, principal);
      const { entry, flight } = place;
      if (entry !== undefined && now() - entry.checkedAt < checkEveryMs) return entry.value;
      return await flight.join(signal, (shared) => check(place, database, { principal, signal: shared }));
    },
    /**
     * The same, by a check that starts after this call: for a statement that failed because something does not exist.
     * @throws as {@linkcode get}
     */
    async recheck(database: Database, { principal, signal }: CatalogCacheRequest): Promise<T> {
      const place = placeOf(database, principal);
      return await place.flight.joinNext(
        signal,
        (shared) => check(place, database, { principal, signal: shared }),
      );
    },
    [Symbol.dispose](): void {
      isClosed = true;
      for (const { flight } of places.values()) flight.stop();
      places.clear();
    },
  };
}
