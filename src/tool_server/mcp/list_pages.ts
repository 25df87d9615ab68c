import { AppError } from "../../core/app_error.ts";

const pageSize = 100;

/** The part of a list that one reply holds. */
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly number: number;
  /** Leads to the next page; absent on the last one. */
  readonly nextCursor?: string;
}

/**
 * The page of a list that a cursor leads to; the first one without (MCP, Pagination).
 * @throws {AppError} `invalid` where the cursor leads to no page of it
 */
export function pageOf<Item>(list: ListName, items: readonly Item[], cursor: unknown): Page<Item> {
  const number = cursor === undefined ? 0 : pageNumber(list, cursor);
  const start = number * pageSize;
  if (!Number.isSafeInteger(number) || (number > 0 && start >= items.length)) {
    const message = "leads to no page of this list; begin again without it";
    throw new AppError("invalid", `Cannot list ${list}: cursor: ${message}`, {
      data: { faults: [{ argument: "cursor", message }] },
    });
  }
  const end = start + pageSize;
  return {
    items: items.length <= pageSize ? items : items.slice(start, end),
    number,
    ...(end < items.length ? { nextCursor: btoa(`${list} ${number + 1}`) } : {}),
  };
}

type ListName = "tools" | "resources" | "resource templates" | "prompts";

function pageNumber(list: ListName, cursor: unknown): number {
  if (typeof cursor !== "string" || cursor.length > 100) return NaN;
  const [, number] = new RegExp(`^${list} ([1-9]\\d*)$`).exec(decoded(cursor)) ?? [];
  return Number(number);
}

function decoded(cursor: string): string {
  try {
    return atob(cursor);
  } catch {
    return "";
  }
}
