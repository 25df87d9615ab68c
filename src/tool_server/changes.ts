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
  const subscribers = new Set<ResourceSubscriber>();
  const watchers = new Set<() => void>();

  function tellWatchers(): void {
    for (const told of [...watchers]) told();
  }

  return {
    /** Tells everybody of a list. */
    publish(change: Exclude<Change, { kind: "resource" }>): void {
      for (const { tell } of [...subscribers]) tell(change);
    },
    /**
     * @param listener is told of lists, and of resources by whoever knows of `subscribers`
     * @param resources which resources it is told of, and for whom
     * @returns what ends it
     */
    subscribe(
      listener: (change: Change) => void,
      resources: Pick<ResourceSubscriber, "principal" | "uris">,
    ): () => void {
      const subscriber = { ...resources, tell: listener };
      subscribers.add(subscriber);
      tellWatchers();
      return () => {
        if (subscribers.delete(subscriber)) tellWatchers();
      };
    },
    /** Those who want to be told of resources now. What none of them asked for need not be looked at. */
    subscribers: (): readonly ResourceSubscriber[] => [...subscribers],
    /** Calls `told` whenever somebody begins or ends to ask for resources. Returns what ends it. */
    watchSubscribers(told: () => void): () => void {
      watchers.add(told);
      return () => void watchers.delete(told);
    },
  };
}

export type Changes = ReturnType<typeof createChanges>;
