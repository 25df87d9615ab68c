import type { pg } from "../connection.ts";

export interface Column {
  readonly name: string;
  readonly typeOid: number;
}

/** Values in PostgreSQL's own text format. */
export type Row = readonly (string | null)[];

/** An answer that is fetched in parts. It lives until its transaction ends or the next one is opened. */
export interface Portal {
  /** Whether all rows have been fetched. */
  isDone(): boolean;
  /** Fetches up to so many rows more. */
  fetch(rows: number): Promise<void>;
}

interface PortalRequest {
  readonly sql: string;
  readonly parameters: readonly (string | null)[];
  /** How many rows to fetch with the opening. */
  readonly rows: number;
  readonly onColumns: (columns: readonly Column[]) => void;
  /** Gets each row with its size on the wire in bytes. */
  readonly onRow: (row: Row, bytes: number) => void;
}

/**
 * Runs one statement by the extended protocol: Parse, Bind, Describe, Execute and Sync in one round trip, so that the
 * server itself takes one statement only. Must be in a transaction, or the portal would end with the first part.
 *
 * @throws what the server answers or the connection fails with
 */
export async function openPortal(client: pg.Client, request: PortalRequest): Promise<Portal> {
  const { sql, parameters, rows, onColumns, onRow } = request;
  const open = (connection: pg.Connection) => {
    connection.parse({ name: "", text: sql, types: [] }, true);
    connection.bind({ portal: "", statement: "", binary: "", values: [...parameters] }, true);
    connection.describe({ type: "P", name: "" }, true);
  };
  let isSuspended = await runPart(client, { open, rows, onColumns, onRow });
  return {
    isDone: () => !isSuspended,
    async fetch(more) {
      if (isSuspended) isSuspended = await runPart(client, { open: () => {}, rows: more, onColumns, onRow });
    },
  };
}

interface PartOptions extends Pick<PortalRequest, "rows" | "onColumns" | "onRow"> {
  readonly open: (connection: pg.Connection) => void;
}

/** Executes the portal for so many rows; whether there may be more. */
function runPart(client: pg.Client, { open, rows, onColumns, onRow }: PartOptions): Promise<boolean> {
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  let isSuspended = false;
  const stopCopy = (connection: pg.Connection) => connection.stream.destroy();
  // what the driver calls while this is the running query
  client.query({
    submit(connection: pg.Connection) {
      connection.stream.cork();
      open(connection);
      connection.execute({ portal: "", rows: String(rows) }, true);
      connection.sync();
      connection.stream.uncork();
    },
    handleRowDescription({ fields }: { fields: readonly { name: string; dataTypeID: number }[] }) {
      onColumns(fields.map(({ name, dataTypeID }) => ({ name, typeOid: dataTypeID })));
    },
    handleDataRow: ({ fields, length }: { fields: Row; length: number }) => onRow(fields, length),
    handlePortalSuspended: () => isSuspended = true,
    handleCommandComplete() {},
    handleEmptyQuery() {},
    handleCopyInResponse: stopCopy,
    handleCopyData: (_message: unknown, connection: pg.Connection) => stopCopy(connection),
    handleReadyForQuery: () => resolve(isSuspended),
    handleError: (error: unknown) => reject(error),
  });
  return promise;
}
