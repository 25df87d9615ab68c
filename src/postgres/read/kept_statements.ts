import type { Buffer } from "node:buffer";
import { serialize } from "pg-protocol";
import type { pg } from "../connection.ts";

/** How many statements one session keeps: each may hold some 100 kB of the server's memory. */
const keptAtMost = 8;

/** By session, the places of the statements that it keeps, by their texts; the one that was asked for last comes last. */
const placesOf = new WeakMap<pg.Client, Map<string, number>>();

interface KeptStatement {
  readonly name: string;
  /** What to send first: nothing where the session has the statement. */
  readonly preparation: readonly Buffer[];
  /** Has it prepared anew the next time. */
  forget(): void;
}

/**
 * A statement that a session keeps under a name, so that the server parses it once (PostgreSQL manual, "Extended Query": a
 * named statement lasts until it is closed). It takes the place of the one that was not asked for the longest.
 */
export function keptStatement(client: pg.Client, text: string): KeptStatement {
  const places = placesOf.get(client) ?? new Map<string, number>();
  placesOf.set(client, places);
  const known = places.get(text);
  const place = known ?? freePlace(places);
  places.delete(text);
  places.set(text, place);
  const name = `postern_${place}`;
  return {
    name,
    // to close what is not there is no error
    preparation: known === undefined
      ? [serialize.close({ type: "S", name }), serialize.parse({ name, text })]
      : [],
    forget: () => void places.delete(text),
  };
}

function freePlace(places: Map<string, number>): number {
  const taken = new Set(places.values());
  const free = Array.from({ length: keptAtMost }, (_, place) => place).find((place) => !taken.has(place));
  if (free !== undefined) return free;
  const [[text, place] = ["", 0]] = places;
  places.delete(text);
  return place;
}
