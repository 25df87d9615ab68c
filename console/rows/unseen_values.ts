/** What nobody sees, and spaces at the ends; joiners stay where a script or an emoji needs them. */
const unseen =
  /(\p{Cc}|[[\p{Cf}\p{Z}]--[ \u3000\u0600-\u0605\u200c\u200d]]|(?<![[\s\S]--[\p{sc=Latn}\p{sc=Grek}\p{sc=Cyrl}\p{sc=Hani}\p{N}\p{P}\p{Z}]])[\u200c\u200d]|^ +|(?<! ) +$)/v;
const signs: Readonly<Record<string, string>> = { " ": "·", "\n": "↵", "\t": "⇥" };

/** A value's parts, marked so that values that differ look different; `hasLines` where its lines are shown as they are. */
export function valueParts(text: string, hasLines: boolean) {
  return text.split(unseen).map((part, at) => {
    const isMark = at % 2 === 1 && !(hasLines && /[\n\t]/.test(part));
    return { isMark, text: isMark ? Array.from(part, sign).join("") : part };
  }).filter(({ text }) => text !== "");
}

function sign(character: string): string {
  return signs[character] ?? `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`;
}
