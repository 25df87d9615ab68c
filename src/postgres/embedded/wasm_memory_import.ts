/** The parts of a WebAssembly binary that matter here (core specification, "Binary Format"). */
const headBytes = 8;
const importSection = 2;
const importKind = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;
const hasMaximum = 1;
const sharedWithMaximum = 3;
const minimumPages = 0;
const maximumPages = 65_536;

/**
 * The module with the memory that it imports declared as shared, and of any size. Loads and stores mean the same on a
 * shared memory, so code compiled without threads runs on it; a module that imports no memory comes back as it is.
 */
export function withSharedMemoryImport(module: Uint8Array): Uint8Array<ArrayBuffer> {
  const read = createReader(module, headBytes);
  while (read.offset() < module.length) {
    const sectionStart = read.offset();
    const id = read.byte();
    const size = read.integer();
    const bodyStart = read.offset();
    if (id === importSection) {
      const limits = memoryLimits(read);
      if (limits === undefined) break;
      const shared = [sharedWithMaximum, ...encodeInteger(minimumPages), ...encodeInteger(maximumPages)];
      const newSize = size - (limits.end - limits.start) + shared.length;
      return concatenate(
        module.subarray(0, sectionStart + 1),
        encodeInteger(newSize),
        module.subarray(bodyStart, limits.start),
        shared,
        module.subarray(limits.end),
      );
    }
    read.skip(size);
  }
  return new Uint8Array(module);
}

type Reader = ReturnType<typeof createReader>;

function createReader(bytes: Uint8Array, start: number) {
  let offset = start;
  const byte = () => bytes[offset++] ?? 0;
  /** Unsigned LEB128. */
  function integer(): number {
    let value = 0;
    for (let factor = 1;; factor *= 128) {
      const next = byte();
      value += (next & 127) * factor;
      if (next < 128) return value;
    }
  }
  return { offset: () => offset, byte, integer, skip: (count: number) => void (offset += count) };
}

function memoryLimits(read: Reader): { start: number; end: number } | undefined {
  for (let left = read.integer(); left > 0; left--) {
    read.skip(read.integer());
    read.skip(read.integer());
    const kind = read.byte();
    const start = read.offset();
    if (kind === importKind.memory) {
      skipLimits(read);
      return { start, end: read.offset() };
    }
    if (kind === importKind.function) read.integer();
    else if (kind === importKind.global) read.skip(2);
    else read.skip(1);
    if (kind === importKind.table) skipLimits(read);
    if (kind === importKind.tag) read.integer();
  }
  return undefined;
}

function skipLimits(read: Reader): void {
  const flags = read.byte();
  read.integer();
  if ((flags & hasMaximum) !== 0) read.integer();
}

function encodeInteger(value: number): number[] {
  return value < 128 ? [value] : [value % 128 + 128, ...encodeInteger(Math.floor(value / 128))];
}

function concatenate(...parts: readonly ArrayLike<number>[]): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}
