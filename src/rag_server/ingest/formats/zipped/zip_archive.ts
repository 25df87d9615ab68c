import { Buffer } from "node:buffer";
import { crc32 } from "node:zlib";
import { sizeText } from "../../../../core/text/units.ts";
import { Inflate } from "fflate";

/** Reads a file of an archive by its path with `/`, in any case; undefined where there is none. */
export type ReadEntry = (path: string) => Uint8Array | undefined;

/** What an archive may have. Documents have hundreds of files and a few MiB; a bomb has more. */
const maxEntries = 20_000;
const usualMaxBytes = 192 * 1024 * 1024;
/** Packed bytes that are unpacked in one go: at most a thousand times as many. */
const stepBytes = 4096;

/** Why a file with a password is not read. */
export const encrypted = "it is encrypted; save it without a password";
const damaged = (cause?: unknown) => new Error("it is damaged, or no such document", { cause });

/**
 * Opens a ZIP archive, such as an office document is. Its files are unpacked when they are read; what all of them come to
 * is counted, whatever headers say.
 *
 * @param maxBytes for all that is unpacked
 * @throws {Error} here or in reading, where it is encrypted, damaged or too large
 */
export function openZip(given: Uint8Array, maxBytes = usualMaxBytes): ReadEntry {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength);
  if (bytes.subarray(0, 8).equals(oldOffice)) {
    if (bytes.includes(Buffer.from("EncryptedPackage", "utf16le"))) throw new Error(encrypted);
    throw new Error("it has the format of Office before 2007; save it in the new one");
  }
  const places = withinBounds(() => readDirectory(bytes));
  let left = maxBytes;

  /** @param at where the directory has it: PKWARE's APPNOTE, section 4.3.12 */
  function unpack(at: number): Uint8Array {
    if ((bytes.readUInt16LE(at + 8) & 1) === 1) throw new Error(encrypted);
    const method = bytes.readUInt16LE(at + 10);
    const header = bytes.readUInt32LE(at + 42);
    const start = header + 30 + bytes.readUInt16LE(header + 26) + bytes.readUInt16LE(header + 28);
    const packed = bytes.subarray(start, start + bytes.readUInt32LE(at + 20));
    if (method !== 0 && method !== 8) throw new Error("it is packed by another method than deflate");
    const unpacked = method === 8 ? inflate(packed, left) : packed;
    left -= unpacked?.length ?? Infinity;
    if (unpacked === undefined || left < 0) throw new Error(`it unpacks to more than ${sizeText(maxBytes)}`);
    if (crc32(unpacked) !== bytes.readUInt32LE(at + 16)) throw damaged();
    return unpacked;
  }

  return (path) => {
    const at = places.get(path.toLowerCase());
    return at === undefined ? undefined : withinBounds(() => unpack(at));
  };
}

/** What Office wrote before 2007, and what it wraps encrypted documents in, begins so. */
const oldOffice = Buffer.from("d0cf11e0a1b11ae1", "hex");

/** Offsets of a damaged archive lead anywhere. */
function withinBounds<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw error instanceof RangeError ? damaged(error) : error;
  }
}

/** Where the directory has each file: PKWARE's APPNOTE, sections 4.3.12 and 4.3.16. */
function readDirectory(bytes: Buffer): Map<string, number> {
  const end = bytes.lastIndexOf("PK\x05\x06");
  if (end < 0) throw damaged();
  const count = bytes.readUInt16LE(end + 10);
  if (count > maxEntries) throw new Error(`it holds more than ${maxEntries} files`);
  const places = new Map<string, number>();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = count; left > 0; left--) {
    if (bytes.readUInt32LE(at) !== 0x02014b50) throw damaged();
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28);
    // some programs write `\`
    places.set(bytes.toString("utf8", at + 46, nameEnd).replaceAll("\\", "/").toLowerCase(), at);
    at = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
  }
  return places;
}

/** Undefined where it comes to more than `most`. */
function inflate(packed: Uint8Array, most: number): Uint8Array | undefined {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const inflater = new Inflate((piece) => {
    pieces.push(piece);
    size += piece.length;
  });
  for (let at = 0; at < packed.length; at += stepBytes) {
    try {
      inflater.push(packed.subarray(at, at + stepBytes), at + stepBytes >= packed.length);
    } catch (error) {
      throw damaged(error);
    }
    if (size > most) return undefined;
  }
  return Buffer.concat(pieces);
}
