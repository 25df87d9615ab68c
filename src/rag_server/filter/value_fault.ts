import { AppError } from "../../core/app_error.ts";
import type { StatementError } from "../../postgres/read/statement_error.ts";

/**
 * Whether a failed search may be the fault of a value that only PostgreSQL could judge. Class 22 is about data; 42601 is
 * bad syntax, which of our own SQL only a value such as one of tsvector can have; XX000 is what types of extensions report; the others are operators and casts that
 * do not exist. https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
export function isFaultOfValue({ sqlState }: StatementError): boolean {
  return sqlState !== undefined && /^(22|XX000|42601|42883|42804|42846|42725)/.test(sqlState);
}

/** @param place the condition's, or the whole filter's where there are several that it may be */
export function misfit(place: string): AppError {
  return new AppError("invalid", `${place}: the operator or the value does not fit the column's type`);
}
