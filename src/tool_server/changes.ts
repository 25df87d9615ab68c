/** What clients may want to be told of when it changes. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

/** Tells of changes to what the server offers, to whoever listens at that moment. */
export function createChanges() {
  const listeners = new Set<(change: Change) => void>();
  return {
    publish(change: Change): void {
      for (const listener of [...listeners]) listener(change);
    },
    /** Returns what ends it. */
    subscribe(listener: (change: Change) => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

export type Changes = ReturnType<typeof createChanges>;
