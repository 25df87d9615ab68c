import type { Principal } from "../core/principal.ts";

/** What clients may want to be told of when it changes. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" }
  | { readonly kind: "resource"; readonly uri: string };

/** Who asked to be told when resources change. Whether they may read them is for whoever tells them to find out. */
export interface ResourceSubscriber {
  readonly principal: Principal;
  readonly uris: readonly string[];
  /** Tells this one alone: others may not know of what changed. */
  readonly tell: (change: Change) => void;
}

/** Tells of changes to what the server offers, to whoever listens at that moment. */
export function createChanges() {
  const listeners = new Set<(change: Change) => void>();
  const subscribers = new Set<ResourceSubscriber>();
  const watchers = new Set<() => void>();

  function tellWatchers(): void {
    for (const told of [...watchers]) told();
  }

  return {
    /** Tells everybody; of a resource only those who asked for it, so it must be one that all of them may know of. */
    publish(change: Change): void {
      for (const listener of [...listeners]) listener(change);
      if (change.kind !== "resource") return;
      for (const subscriber of [...subscribers]) {
        if (subscriber.uris.includes(change.uri)) subscriber.tell(change);
      }
    },
    /**
     * @param listener is told of resources only where `resources` is absent: then of all that are published
     * @param resources those that it wants to be told of, for whom; it is then told of no others
     * @returns what ends it
     */
    subscribe(
      listener: (change: Change) => void,
      resources?: Pick<ResourceSubscriber, "principal" | "uris">,
    ): () => void {
      if (resources === undefined) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      }
      const listsOnly = (change: Change) => {
        if (change.kind !== "resource") listener(change);
      };
      const subscriber = { ...resources, tell: listener };
      listeners.add(listsOnly);
      subscribers.add(subscriber);
      tellWatchers();
      return () => {
        listeners.delete(listsOnly);
        if (subscribers.delete(subscriber)) tellWatchers();
      };
    },
    /** Those who want to be told of resources now: nobody need look at what none of them asked for. */
    subscribers: (): readonly ResourceSubscriber[] => [...subscribers],
    /** Calls `told` whenever somebody begins or ends to ask for resources. Returns what ends it. */
    watchSubscribers(told: () => void): () => void {
      watchers.add(told);
      return () => void watchers.delete(told);
    },
  };
}

export type Changes = ReturnType<typeof createChanges>;
