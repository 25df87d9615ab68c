import { isKept, type Turn, turnLifetimeMs, turnsPerOwner, type TurnStore } from "./turns.ts";

// twenty turns are about 20 KB, so this many owners take some 20 MB
const maxOwners = 1000;

interface Owned {
  readonly turns: readonly Turn[];
  readonly generation: number;
}

/** Turns that last as long as the process. Of too many owners, the one that asked longest ago is dropped. */
export function createMemoryTurns({ now }: { now: () => number }): TurnStore {
  const ownedBy = new Map<string, Owned>();
  // the latest of those who were dropped, so that what they had forgotten does not come back with them
  let generationOfAbsent = 0;

  function current(owner: string): Owned {
    const since = now() - turnLifetimeMs;
    const { turns, generation } = ownedBy.get(owner) ?? { turns: [], generation: generationOfAbsent };
    return { turns: turns.filter(({ at }) => at > since), generation };
  }

  /** A map keeps its keys in the order in which they came: the last to ask goes to the end. */
  function put(owner: string, owned: Owned): void {
    ownedBy.delete(owner);
    ownedBy.set(owner, owned);
    const [first] = ownedBy;
    if (ownedBy.size <= maxOwners || first === undefined) return;
    const [longestAgo, { generation }] = first;
    ownedBy.delete(longestAgo);
    generationOfAbsent = Math.max(generationOfAbsent, generation);
  }

  return {
    recent: (owner, database) => current(owner).turns.filter((turn) => turn.database === database),

    generation: (owner) => current(owner).generation,

    add(owner, turn, generation) {
      const { turns, generation: latest } = current(owner);
      if (!isKept(turn) || generation !== latest) return;
      put(owner, { turns: [...turns, turn].slice(-turnsPerOwner), generation });
    },

    forget(owner) {
      const { turns, generation } = current(owner);
      put(owner, { turns: [], generation: generation + 1 });
      return turns.length;
    },

    clearExpired() {
      for (const owner of ownedBy.keys()) ownedBy.set(owner, current(owner));
    },

    [Symbol.dispose]: () => ownedBy.clear(),
  };
}
