import { messagesIn, readTexts } from "./wire_protocol.ts";

/** A statement's end that the database itself could not report: it was stopped, or the database with it. */
export class BackendFault extends Error {
  override readonly name = "BackendFault";

  /**
   * `sqlState` is one of PostgreSQL's manual, "PostgreSQL Error Codes"; after a `FATAL` one the client's session can't
   * go on.
   */
  constructor(readonly sqlState: string, message: string, readonly severity: "ERROR" | "FATAL" = "ERROR") {
    super(message);
  }
}

export const cancelledByTimeout = () =>
  new BackendFault("57014", "canceling statement due to statement timeout");

export const cancelledByUser = () => new BackendFault("57014", "canceling statement due to user request");

/** `reason` is the message of the exception that came out of the database's code. */
export function stoppedBy(reason: string): BackendFault {
  // V8's words for recursion that PostgreSQL's own check did not see
  if (reason.includes("call stack")) return new BackendFault("54001", "stack depth limit exceeded");
  return new BackendFault("XX000", `the embedded database stopped: ${reason}`);
}

export const shuttingDown = () =>
  new BackendFault("57P01", "terminating connection due to administrator command", "FATAL");

/** The first ErrorResponse in whole messages, as a fault that ends a session. */
export function faultIn(messages: Uint8Array): BackendFault | undefined {
  const error = messagesIn(messages).find(({ type }) => type === "E");
  if (error === undefined) return undefined;
  const fields = new Map(readTexts(error.body, 50).map((field) => [field.slice(0, 1), field.slice(1)]));
  return new BackendFault(fields.get("C") ?? "XX000", fields.get("M") ?? "", "FATAL");
}
