// a map, since a name of a database may be "constructor"
const irregular: ReadonlyMap<string, string> = new Map([
  ["people", "person"],
  ["men", "man"],
  ["women", "woman"],
  ["children", "child"],
  ["indices", "index"],
  ["indexes", "index"],
  ["criteria", "criterion"],
]);

/** Whether an English noun in lower case has a plural's form. */
export function isPlural(word: string): boolean {
  return irregular.has(word) || (word.length > 2 && /[^su]s$/.test(word) && !word.endsWith("is")) ||
    /(ss|us|is)es$/.test(word);
}

/**
 * What a noun's singular and plural have in common. It is no English word ("movies" and "movie" give "movy");
 * both sides of a comparison go through it.
 */
export function wordStem(word: string): string {
  const known = irregular.get(word);
  if (known !== undefined) return known;
  const base = isPlural(word) ? word.slice(0, -1) : word;
  if (base.length > 3 && base.endsWith("ie")) return `${base.slice(0, -2)}y`;
  return /(x|ch|sh|ss|us|is)e$/.test(base) ? base.slice(0, -1) : base;
}

/** An identifier's words in lower case: `order_lines`, `orderLines` and `Order Lines` give the same two. */
export function identifierWords(identifier: string): string[] {
  return identifier
    .replace(/(\p{Ll}|\p{N})(\p{Lu})/gu, "$1 $2")
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== "");
}
