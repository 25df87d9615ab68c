/** What the engine needs for an entry, beside the two bytes of each UTF-16 unit of its text. */
const entryBytes = 200;

/**
 * The latest values by their texts, as many as so many bytes hold.
 *
 * @param maxBytes of texts and values together; what came first is forgotten first
 */
export function createLatestByText<T>({ maxBytes }: { readonly maxBytes: number }) {
  const entries = new Map<string, { readonly value: T; readonly bytes: number }>();
  let bytes = 0;

  function forget(text: string): void {
    bytes -= entries.get(text)?.bytes ?? 0;
    entries.delete(text);
  }

  return {
    delete: forget,
    clear(): void {
      entries.clear();
      bytes = 0;
    },
    get: (text: string): T | undefined => entries.get(text)?.value,
    /** In place of what the text had before. A value that would need more than all of the room is left out. */
    set(text: string, value: T, valueBytes: number): void {
      forget(text);
      const added = entryBytes + 2 * text.length + valueBytes;
      if (added > maxBytes) return;
      for (const oldest of entries.keys()) {
        if (bytes + added <= maxBytes) break;
        forget(oldest);
      }
      entries.set(text, { value, bytes: added });
      bytes += added;
    },
  };
}
