import words from "./schema_words.json" with { type: "json" };

function partners(): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  // small and general on purpose: what people ask for against what tables are called, whatever the trade
  for (const group of words.groups) {
    const members = group.split(" ");
    for (const member of members) {
      const others = found.get(member) ?? new Set();
      members.filter((other) => other !== member).forEach((other) => others.add(other));
      found.set(member, others);
    }
  }
  return found;
}

/** Words that a request may use for what a schema calls otherwise; in the singular, both ways. */
export const synonyms: ReadonlyMap<string, ReadonlySet<string>> = partners();

/** Irregular forms that no suffix rule leads back to the word in a name. */
export const irregularForms: ReadonlyMap<string, string> = new Map(Object.entries(words.irregularForms));

/**
 * What short forms in database names stand for, several where names in use disagree; a meaning of several words has `_`
 * between them.
 */
export const abbreviations: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(words.abbreviations).map(([short, meanings]) => [short, meanings.split(" ")]),
);
