import type { Token } from "./tokens.ts";

const units =
  "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
    .concat(" seventeen eighteen nineteen").split(" ");
const tens = "twenty thirty forty fifty sixty seventy eighty ninety".split(" ");

const values: ReadonlyMap<string, number> = new Map([
  ...units.map((word, index): [string, number] => [word, index + 1]),
  ...tens.map((word, index): [string, number] => [word, (index + 2) * 10]),
  ["dozen", 12],
]);
const multipliers: ReadonlyMap<string, number> = new Map([["hundred", 100], ["thousand", 1000]]);

/** Puts one number in place of number words that belong together: "twenty five", "two hundred", "a dozen". */
export function combineNumberWords(tokens: readonly Token[]): Token[] {
  const combined: Token[] = [];
  for (let at = 0; at < tokens.length;) {
    const first = tokens[at];
    if (first === undefined) break;
    const { value, length } = numberAt(tokens, at);
    if (length === 0) {
      combined.push(first);
      at += 1;
      continue;
    }
    const key = String(value);
    combined.push({
      kind: "number",
      key,
      stem: key,
      start: first.start,
      end: tokens[at + length - 1]?.end ?? first.end,
    });
    at += length;
  }
  return combined;
}

function numberAt(tokens: readonly Token[], at: number): { value: number; length: number } {
  const wordAt = (index: number) => tokens[index]?.kind === "word" ? tokens[index].key : "";
  let value = values.get(wordAt(at));
  let length = value === undefined ? 0 : 1;
  const unit = values.get(wordAt(at + 1));
  if (value !== undefined && value >= 20 && unit !== undefined && unit < 10) {
    value += unit;
    length = 2;
  }
  const multiplier = multipliers.get(wordAt(at + length));
  if (multiplier !== undefined) return { value: (value ?? 1) * multiplier, length: length + 1 };
  return { value: value ?? 0, length };
}
