import { isKept, type Turn, turnLifetimeMs, turnsPerOwner, type TurnStore } from "./turns.ts";

// twenty turns are about 20 KB, so this many owners take some 20 MB
const maxOwners = 1000;

/** Turns that last as long as the process. Of too many owners, the one that asked longest ago is dropped. */
export function createMemoryTurns({ now }: { now: () => number }): TurnStore {
  const turnsOf = new Map<string, readonly Turn[]>();

  function current(owner: string): readonly Turn[] {
    const since = now() - turnLifetimeMs;
    return (turnsOf.get(owner) ?? []).filter(({ at }) => at > since);
  }

  return {
    recent: (owner, database) => current(owner).filter((turn) => turn.database === database),

    add(owner, turn) {
      if (!isKept(turn)) return;
      const turns = [...current(owner), turn].slice(-turnsPerOwner);
      // a map keeps its keys in the order in which they came: the last to ask goes to the end
      turnsOf.delete(owner);
      turnsOf.set(owner, turns);
      const [first] = turnsOf.keys();
      if (turnsOf.size > maxOwners && first !== undefined) turnsOf.delete(first);
    },

    forget(owner) {
      const count = current(owner).length;
      turnsOf.delete(owner);
      return count;
    },

    [Symbol.dispose]: () => turnsOf.clear(),
  };
}
