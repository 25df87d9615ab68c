import { Buffer } from "node:buffer";

/** Values in PostgreSQL's own text format. */
type Values = readonly (string | null)[];

/** One byte for the kind, four for the length, which counts itself (PostgreSQL manual, "Message Formats"). */
const headerBytes = 5;
const dataRow = "D".charCodeAt(0);
const errorResponse = "E".charCodeAt(0);
const noticeResponse = "N".charCodeAt(0);

/** PostgreSQL makes no message of more than 1 GiB. */
const longestMessage = 2 ** 30;

/** Above that a value is read by itself: then it is quicker than to look whether it is all ASCII. */
const longestShort = 64;

/**
 * Takes what a server sends, in the parts that it comes in, and reads the rows, of which there are many. The driver's parser,
 * which the other messages are for, has the runtime make a text of each value, and that takes longer than all else
 * about it. Here the runtime makes one of the whole part, of which short values in ASCII are cut out.
 *
 * @returns what takes a part, and throws where that is against the protocol: then what follows cannot be understood
 */
export function createRowReader({ onRow, onOthers }: {
  /** Gets the values of a row, with the length that its message tells of itself. */
  readonly onRow: (fields: Values, length: number) => void;
  /** Gets all other messages, which the driver's parser is for: one, or several that came together; none in part. */
  readonly onOthers: (messages: Buffer) => void;
}): (part: Buffer) => void {
  // of a message that came in part: what is there, and how much is needed to go on
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let neededBytes = 0;

  function split(bytes: Buffer): void {
    let text = "";
    let at = 0;
    let othersFrom = 0;
    for (let end; (end = endOfMessage(bytes, at)) <= bytes.length; at = end) {
      if (bytes[at] !== dataRow) {
        checkEnd(bytes, at, end);
        continue;
      }
      if (othersFrom < at) onOthers(bytes.subarray(othersFrom, at));
      othersFrom = end;
      if (text === "") text = bytes.toString("latin1");
      onRow(readRow(bytes, text, at + headerBytes, end), end - at - 1);
    }
    if (othersFrom < at) onOthers(bytes.subarray(othersFrom, at));
    if (at === bytes.length) return;
    waiting = [bytes.subarray(at)];
    waitingBytes = bytes.length - at;
    neededBytes = endOfMessage(bytes, at) - at;
  }

  return (part) => {
    if (waitingBytes === 0) return split(part);
    waiting.push(part);
    waitingBytes += part.length;
    if (waitingBytes < neededBytes) return;
    const whole = Buffer.concat(waiting, waitingBytes);
    waiting = [];
    waitingBytes = 0;
    split(whole);
  };
}

/** Where a message ends, or its header where that is not whole. */
function endOfMessage(bytes: Buffer, at: number): number {
  if (at + headerBytes > bytes.length) return at + headerBytes;
  const length = bytes.readUInt32BE(at + 1);
  if (length < 4 || length > longestMessage) throw malformed("a message of an impossible length");
  return at + 1 + length;
}

function malformed(what: string): Error {
  return new Error(`the server sent ${what}`);
}

/** Errors and notices are texts with a byte before each; of one without an end the driver's parser would find none either. */
function checkEnd(bytes: Buffer, start: number, end: number): void {
  if (bytes[start] !== errorResponse && bytes[start] !== noticeResponse) return;
  for (let at = start + headerBytes; at < end;) {
    if (bytes[at] === 0) return;
    const endOfText = bytes.indexOf(0, at + 1);
    if (endOfText === -1) break;
    at = endOfText + 1;
  }
  throw malformed("an error or a notice without an end");
}

function readRow(bytes: Buffer, text: string, start: number, end: number): Values {
  const count = start + 2 > end ? -1 : bytes.readInt16BE(start);
  if (count < 0) throw malformed("a row without a count of its columns");
  const fields = new Array<string | null>(count);
  let at = start + 2;
  for (let index = 0; index < count; index++) {
    if (at + 4 > end) throw malformed("a row with fewer values than columns");
    const length = bytes.readInt32BE(at);
    at += 4;
    // NULL
    if (length === -1) {
      fields[index] = null;
      continue;
    }
    const after = at + length;
    if (length < 0 || after > end) throw malformed("a value of an impossible length");
    fields[index] = isShortAscii(bytes, at, after)
      ? text.substring(at, after)
      : bytes.toString("utf8", at, after);
    at = after;
  }
  if (at !== end) throw malformed("a row with more than its columns");
  return fields;
}

function isShortAscii(bytes: Buffer, start: number, end: number): boolean {
  if (end - start > longestShort) return false;
  for (let at = start; at < end; at++) if ((bytes[at] ?? 0) > 0x7f) return false;
  return true;
}
