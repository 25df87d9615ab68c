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

/** A suffix, how many letters must remain before it, and what it becomes; of those that fit, the first counts. */
const suffixes = (
  "ization 3 iz,isation 3 iz,ational 3 at,fulness 3 ,iveness 3 iv,ation 3 at,ating 3 at,ator 3 at,ated 3 at,ate 3 at," +
  "ically 4 ,ical 4 ,izing 3 iz,ising 3 iz,ized 3 iz,ised 3 iz,ize 3 iz,ment 4 ,ness 3 ,ing 3 ,edly 3 ,ally 3 al," +
  "ity 4 ,ied 2 y,ion 4 ,ive 4 ,ed 3 ,ly 3 ,er 4 ,al 4 ,ic 4 ,e 3 "
).split(",").map((entry) => {
  const [suffix = "", rest, becomes = ""] = entry.split(" ");
  return { suffix, rest: Number(rest), becomes };
});

/**
 * What an English word has in common with its inflections and near relatives ("carried", "carries" and "carry"); it is
 * no word itself. Both sides of a search go through it. Words of other alphabets stay as they are.
 * @param word folded
 */
export function searchStem(word: string): string {
  if (!/^[a-z]{3,40}$/.test(word)) return word;
  const stem = withoutSuffix(wordStem(word));
  return stem.length > 3 && stem.endsWith("y") ? `${stem.slice(0, -1)}i` : stem;
}

function withoutSuffix(word: string): string {
  for (const { suffix, rest, becomes } of suffixes) {
    if (word.length - suffix.length < rest || !word.endsWith(suffix)) continue;
    const base = word.slice(0, -suffix.length) + becomes;
    // "stopped" is "stop", but "filled" is "fill".
    return becomes === "" && /([bdgmnprt])\1$/.test(base) ? base.slice(0, -1) : base;
  }
  return word;
}
