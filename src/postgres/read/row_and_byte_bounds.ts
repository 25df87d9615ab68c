import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { DatabaseOptions } from "../database_options.ts";
import type { Column, PortalRequest, Row } from "./portal.ts";
import type { ReadOnlyTransaction } from "./read_only_transaction.ts";
import { sizeText } from "../../core/text/units.ts";
import type { Lease } from "../pool/principal_pool.ts";

/** The most that is kept of one answer. Bytes are those of the rows, as they come over the wire. */
interface RowAndByteBounds {
  readonly maxRows: number;
  readonly maxBytes: number;
}

// of our own statements that have no bounds of their own; a database's are its settings `max_rows` and `max_bytes`
const maxTrustedRows = 1_000_000;
const maxTrustedBytes = 256 * 1_048_576;

/** The bounds of one answer: a caller may ask for fewer rows than the database's bound, a statement of ours for any. */
export function boundsOf(
  request: Partial<RowAndByteBounds> & { readonly trusted?: boolean },
  { maxRows, maxBytes }: Pick<DatabaseOptions, "maxRows" | "maxBytes">,
): RowAndByteBounds {
  return request.trusted
    ? { maxRows: request.maxRows ?? maxTrustedRows, maxBytes: request.maxBytes ?? maxTrustedBytes }
    : { maxRows: Math.min(request.maxRows ?? maxRows, maxRows), maxBytes };
}

interface AnswerOptions extends RowAndByteBounds {
  /** Rows to leave out first. */
  readonly offset: number;
  /** No part is fetched after so long; the server's own timeout counts each part apart. */
  readonly deadlineMs: number;
  /** Whether the transaction has more to do, however small the answer is. */
  readonly isFollowed?: boolean;
}

export interface Answer {
  readonly columns: readonly Column[];
  /** Values in PostgreSQL's own text format. */
  readonly rows: readonly Row[];
  /** Of the rows, as they came over the wire. */
  readonly bytes: number;
  /** Whether there were more rows, or more bytes, than the bounds let through. Optional: none where the answer is whole. */
  readonly truncatedBy?: "rows" | "bytes";
}

/** How many rows are fetched first, with one more to see whether there is more, and how many at most at once after that. */
const firstPart = 101;
const largestPart = 1_000;

/** How many bytes more than `maxBytes` may come over the wire for one part before the connection is given up. */
const slackBytes = 8 * 1_048_576;

/**
 * Reads the rows of one statement in parts, and stops where a bound is reached: the server computes no more than it was
 * asked for. Where the first part is all that is wanted, the transaction ends with it.
 *
 * @throws {AppError} `invalid` where not even one row fits, `timeout` past the deadline; else what the server answers
 */
export async function readBoundedAnswer(
  lease: Lease,
  transaction: ReadOnlyTransaction,
  statement: Pick<PortalRequest, "sql" | "parameters" | "isKept">,
  bounds: AnswerOptions,
): Promise<Answer> {
  const kept = createKeptRows(bounds);
  const startedAt = performance.now();
  let columns: readonly Column[] = [];
  try {
    lease.limitBytes(bounds.maxBytes + slackBytes);
    const rows = Math.min(firstPart, kept.missing());
    const portal = await transaction.open({
      ...statement,
      rows,
      onColumns: (described) => columns = described,
      onRow: kept.add,
      // fewer rows, as of a small `maxBytes`, may all be ones that the offset leaves out
    }, !bounds.isFollowed && rows > bounds.offset + bounds.maxRows);
    while (!portal.isDone() && kept.truncatedBy() === undefined) {
      if (performance.now() - startedAt > bounds.deadlineMs) {
        throw new AppError("timeout", "Cannot finish reading: the answer took too long");
      }
      lease.limitBytes(bounds.maxBytes + slackBytes);
      await portal.fetch(Math.min(largestPart, kept.missing()));
    }
  } catch (error) {
    // the connection was given up for the bytes on it; the rows that came before are an answer
    if (!(error instanceof AppError && error.code === "invalid")) throw error;
    kept.cut();
  } finally {
    lease.limitBytes(undefined);
  }
  const { rows } = kept;
  const truncatedBy = kept.truncatedBy();
  if (rows.length === 0 && truncatedBy === "bytes") {
    throw new AppError("invalid", `Cannot return a row: it is longer than ${sizeText(bounds.maxBytes)}`, {
      data: { hint: "Select fewer columns, or shorten long ones with left(column, 1000)." },
    });
  }
  return { columns, rows, bytes: kept.bytes(), ...defined({ truncatedBy }) };
}

/** Takes rows as they come, and keeps those within the bounds. */
function createKeptRows({ maxRows, maxBytes, offset }: AnswerOptions) {
  const rows: Row[] = [];
  let truncatedBy: "rows" | "bytes" | undefined;
  let seen = 0;
  let seenBytes = 0;
  let bytes = 0;

  return {
    add(row: Row, size: number): void {
      seen++;
      seenBytes += size;
      if (truncatedBy !== undefined || seen <= offset) return;
      if (rows.length === maxRows) truncatedBy = "rows";
      else if (bytes + size > maxBytes) truncatedBy = "bytes";
      else {
        bytes += size;
        rows.push(row);
      }
    },
    /** How many rows to ask for: those up to the bounds, and one more to see whether there is more. */
    missing(): number {
      const average = Math.max(1, seenBytes / Math.max(1, seen));
      return Math.max(1, Math.min(offset + maxRows + 1 - seen, Math.ceil(maxBytes / average) + 1));
    },
    cut: () => truncatedBy = "bytes",
    rows,
    bytes: () => bytes,
    truncatedBy: () => truncatedBy,
  };
}
