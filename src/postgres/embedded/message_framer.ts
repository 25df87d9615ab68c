import { readInt32 } from "./wire_protocol.ts";

const chunkBytes = 64 * 1024;

/** Cuts a backend's output into chunks of whole messages, so that a reader can always be told of an error next. */
export interface MessageFramer {
  /** Copies the bytes: they may be a view that changes. */
  push(bytes: Uint8Array): void;
  /** Emits what is left; returns the last whole message. */
  flush(): Uint8Array;
}

/** Emits chunks of about 64 KiB, or of one message where that is longer; `emit` owns what it is given. */
export function createMessageFramer(emit: (chunk: Uint8Array<ArrayBuffer>) => void): MessageFramer {
  let buffer = new Uint8Array(2 * chunkBytes);
  let filled = 0;
  let whole = 0;
  let last = new Uint8Array(0);

  function append(bytes: Uint8Array): void {
    if (filled + bytes.length > buffer.length) {
      const larger = new Uint8Array(Math.max(2 * buffer.length, filled + bytes.length));
      larger.set(buffer.subarray(0, filled));
      buffer = larger;
    }
    buffer.set(bytes, filled);
    filled += bytes.length;
  }

  function advance(): void {
    while (whole + 5 <= filled) {
      const end = whole + 1 + readInt32(buffer, whole + 1);
      if (end > filled) return;
      last = buffer.subarray(whole, end);
      whole = end;
    }
  }

  function emitWhole(): void {
    if (whole === 0) return;
    last = last.slice();
    emit(buffer.slice(0, whole));
    buffer.copyWithin(0, whole, filled);
    filled -= whole;
    whole = 0;
  }

  return {
    push(bytes) {
      append(bytes);
      advance();
      if (whole >= chunkBytes) emitWhole();
    },
    flush() {
      emitWhole();
      return last;
    },
  };
}
