import { identifierWords, wordStem } from "../../../text/word_stem.ts";
import { tokenise } from "../rules/request_tokens.ts";
import type { VisibleModel } from "./semantic_models.ts";

/**
 * A request with the tables' own names where it has a model's name or synonym for them: "how many clients" is "how many
 * customers" where a model says so. A name that two models have stays.
 */
export function withTableWords(request: string, models: readonly VisibleModel[]): string {
  const names = models.flatMap(({ name, synonyms, table }) =>
    [name, ...synonyms].map((each) => ({ stems: stemsOf(each), table }))
  );
  const tokens = tokenise(request);
  let text = "";
  let end = 0;
  for (let at = 0; at < tokens.length;) {
    const here = names.filter(({ stems }) =>
      stems.every((stem, place) => tokens[at + place]?.kind === "word" && tokens[at + place]?.stem === stem)
    ).toSorted((a, b) => b.stems.length - a.stems.length);
    const longest = here.filter(({ stems }) => stems.length === here[0]?.stems.length);
    const [only, ...others] = new Set(longest.map(({ table }) => table));
    const first = tokens[at];
    const last = tokens[at + (longest[0]?.stems.length ?? 1) - 1];
    at += longest[0]?.stems.length ?? 1;
    if (only === undefined || others.length > 0 || first === undefined || last === undefined) continue;
    text += request.slice(end, first.start) + identifierWords(only.name).join(" ");
    end = last.end;
  }
  return text + request.slice(end);
}

function stemsOf(name: string): string[] {
  return identifierWords(name).map(wordStem);
}
