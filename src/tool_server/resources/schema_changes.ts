import { forEachInSlices } from "../../core/async/yield.ts";
import type { Logger } from "../../core/logger.ts";
import { bearerKey, type Principal } from "../../core/principal.ts";
import { isGranted, resourceOf, type ScopesByTool } from "../../identity/access_rules.ts";
import type { Catalog, CatalogTable } from "../../postgres/catalog/catalog.ts";
import { type CatalogChange, createCatalogCache } from "../../postgres/catalog/catalog_cache.ts";
import { tableKey } from "../../postgres/catalog/sample_values.ts";
import type { Database } from "../../postgres/database.ts";
import type { Changes, ResourceSubscriber } from "../changes.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import { formatAddress, parseAddress, type ResourceAddress } from "./resource_address.ts";

export type SchemaChanges = ReturnType<typeof createSchemaChanges>;

interface SchemaChangesOptions {
  readonly directory: DatabaseDirectory;
  readonly changes: Changes;
  readonly now: () => number;
  readonly logger: Logger;
  /** Optional: no tool needs any. */
  readonly scopesByTool?: ScopesByTool;
  /** How often databases are looked at that somebody asked for. Optional; the default is 30,000. */
  readonly lookEveryMs?: number;
}

type SchemaAddress = Extract<ResourceAddress, { readonly database: string }>;

/** One who asked for schemas or tables of a database that they may use, with the addresses as they wrote them. */
interface Reader {
  readonly subscriber: ResourceSubscriber;
  readonly database: Database;
  readonly uris: Addresses;
}

/**
 * The catalogs that resources are read from. Whoever asked for a schema or a table is told of it where the catalog has
 * changed as their own rights show it, so nobody learns of what is hidden from them. Databases are looked at only while
 * somebody asks.
 */
export function createSchemaChanges(options: SchemaChangesOptions) {
  const { directory, changes, now, logger, lookEveryMs = 30_000 } = options;
  const closed = new AbortController();
  const catalogs = createCatalogCache({
    prepare: ({ catalog }) => ({ catalog }),
    now,
    logger,
    onChange: (change) => void tellOfTables(change),
  });
  let timer: ReturnType<typeof setInterval> | undefined;

  function readers(): Reader[] {
    return changes.subscribers().flatMap((subscriber) => {
      const { principal } = subscriber;
      const readable = schemaAddresses(subscriber.uris).filter(([, { kind }]) =>
        isGranted(principal, resourceOf(kind, options.scopesByTool))
      );
      const byDatabase = Map.groupBy(readable, ([, { database }]) => database);
      return [...byDatabase].flatMap(([name, uris]) => {
        const database = findDatabase(principal, name);
        return database === undefined ? [] : [{ subscriber, database, uris }];
      });
    });
  }

  function findDatabase(principal: Principal, name: string): Database | undefined {
    try {
      return directory.resolve(principal, name);
    } catch {
      // hidden, gone, or the session has ended
      return undefined;
    }
  }

  async function tellOfTables(change: CatalogChange<{ readonly catalog: Catalog }>): Promise<void> {
    const { database, rightsKey, before, after } = change;
    const concerned = () =>
      readers().filter((reader) =>
        reader.database === database && database.rightsKey(reader.subscriber.principal) === rightsKey
      );
    if (concerned().length === 0) return;
    const changed = await changedTables(before.catalog, after.catalog);
    if (changed.size === 0) return;
    for (const { subscriber, uris } of concerned()) {
      for (const [uri, address] of uris) {
        const isChanged = address.kind === "schema" || changed.has(tableKey(address.schema, address.table));
        if (isChanged) subscriber.tell({ kind: "resource", uri });
      }
    }
  }

  function tellOfDatabases(isConcerned: (principal: Principal) => boolean): void {
    for (const { principal, uris, tell } of changes.subscribers()) {
      if (!isConcerned(principal)) continue;
      for (const kind of ["databases", "system_info"] as const) {
        const uri = formatAddress({ kind });
        if (uris.includes(uri) && isGranted(principal, resourceOf(kind, options.scopesByTool))) {
          tell({ kind: "resource", uri });
        }
      }
    }
  }

  function look(how: "get" | "recheck" = "get"): void {
    const looked = new Set<string>();
    for (const { database, subscriber: { principal } } of readers()) {
      const key = JSON.stringify([database.name, database.rightsKey(principal)]);
      if (looked.has(key)) continue;
      looked.add(key);
      catalogs[how](database, { principal, signal: closed.signal }).catch((error) => {
        if (!closed.signal.aborted) {
          logger.debug("cannot look for changes", { database: database.name, error });
        }
      });
    }
  }

  function onSubscribers(): void {
    const isNeeded = changes.subscribers().some(({ uris }) => schemaAddresses(uris).length > 0);
    if (!isNeeded) {
      clearInterval(timer);
      timer = undefined;
      return;
    }
    // what the first look finds is what later ones are compared with
    look();
    timer ??= setInterval(() => look(), lookEveryMs);
    Deno.unrefTimer(timer);
  }
  const stopWatching = changes.watchSubscribers(onSubscribers);

  return {
    /** What all readers of catalogs share. Those who asked for a resource are told of each change that it sees. */
    catalogs,
    /** Looks at once, where anybody asked to be told: for whoever saw elsewhere that a catalog has changed. */
    look: (): void => look("recheck"),
    /** Replaces databases by what `replace` does, and tells whoever asked for one of them. */
    replacing<T>(replace: () => T): T {
      const before = readers();
      const replaced = replace();
      const after = readers();
      const isIn = (list: readonly Reader[], { subscriber, database }: Reader) =>
        list.some((other) => other.subscriber === subscriber && other.database === database);
      const told = [
        ...before.filter((reader) => !isIn(after, reader)),
        // one that was replaced is told of once
        ...after.filter(({ subscriber, database }) =>
          !before.some((other) => other.subscriber === subscriber && other.database.name === database.name)
        ),
      ];
      for (const { subscriber, uris } of told) {
        for (const [uri] of uris) subscriber.tell({ kind: "resource", uri });
      }
      tellOfDatabases(() => true);
      look();
      return replaced;
    },
    /** Tells a principal who asked that another database is the current one. */
    selected(key: string): void {
      tellOfDatabases((principal) => bearerKey(principal) === key);
    },
    [Symbol.dispose](): void {
      closed.abort();
      clearInterval(timer);
      stopWatching();
      catalogs[Symbol.dispose]();
    },
  };
}

type Addresses = readonly (readonly [uri: string, address: SchemaAddress])[];

/** Of each subscriber's list, which is looked at again whenever another one comes or goes. */
const known = new WeakMap<readonly string[], Addresses>();

function schemaAddresses(uris: readonly string[]): Addresses {
  const addresses = known.get(uris) ?? uris.flatMap((uri) => {
    const address = parseAddress(uri);
    return address !== undefined && "database" in address ? [[uri, address] as const] : [];
  });
  known.set(uris, addresses);
  return addresses;
}

/** The keys of tables that came, went or became different; how many rows they are said to have does not count. */
async function changedTables(before: Catalog, after: Catalog): Promise<ReadonlySet<string>> {
  const texts = new Map<string, string>();
  const keyOf = ({ schema, name }: CatalogTable) => tableKey(schema, name);
  const textOf = (table: CatalogTable) => JSON.stringify({ ...table, estimatedRows: 0 });
  await forEachInSlices(before.tables, (table) => texts.set(keyOf(table), textOf(table)));
  const changed = new Set<string>();
  await forEachInSlices(after.tables, (table) => {
    const key = keyOf(table);
    if (texts.get(key) !== textOf(table)) changed.add(key);
    texts.delete(key);
  });
  return new Set([...changed, ...texts.keys()]);
}
