import { type PacketInbox, ProtocolViolation } from "./packet_inbox.ts";
import { encode, message } from "./wire_protocol.ts";

/** Messages up to the first that the client waits for an answer to. */
export interface MessageBatch {
  readonly bytes: Uint8Array;
  /** After `flush` the extended query goes on; ReadyForQuery ends the answer to the other two. */
  readonly endsWith: "query" | "sync" | "flush";
}

/**
 * PGlite takes the end of its input for the client's death and exits, so a COPY … FROM STDIN is told at once that there
 * is no data. A server ignores CopyFail where no COPY is under way (manual, "COPY Operations").
 */
const noCopyData = message("f", "the embedded database takes no data from the client");

/** The next batch; undefined where the client ended the session or is gone. @throws ProtocolViolation */
export async function readBatch(inbox: PacketInbox): Promise<MessageBatch | undefined> {
  const parts: Uint8Array[] = [];
  for (;;) {
    const next = await inbox.readMessage();
    switch (next?.type) {
      case undefined:
      case "X":
        inbox.end();
        return undefined;
      case "Q":
        return { bytes: encode(...parts, next.bytes, noCopyData), endsWith: "query" };
      case "F":
        return { bytes: encode(...parts, next.bytes), endsWith: "query" };
      case "S":
        return { bytes: encode(...parts, next.bytes), endsWith: "sync" };
      case "H":
        return { bytes: encode(...parts, next.bytes), endsWith: "flush" };
      case "E":
        parts.push(next.bytes, noCopyData);
        break;
      case "P":
      case "B":
      case "D":
      case "C":
        parts.push(next.bytes);
        break;
      case "d":
      case "c":
      case "f":
        break;
      default:
        throw new ProtocolViolation(`invalid frontend message type ${next?.bytes[0]}`);
    }
  }
}
