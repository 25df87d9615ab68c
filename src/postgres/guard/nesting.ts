import { deepComment } from "./tokens.ts";

/**
 * Deepest nesting that the recursive parts of the parser are given. They overflow at about twice as much, and after
 * some dozens of overflows the parser's memory is broken for good, so an overflow must never come about.
 */
export const maxNesting = 2_000;

const opens = new Set(["(", "[", "case"]);
const closes = new Set([")", "]", "end"]);

/** After these words a new branch of the tree begins beside the one before. */
const separators = new Set(
  [",", ";", "and", "or", "when", "then", "else", "from", "where", "on", "group", "order", "having", "limit"],
);

/** Each of these takes all that stands before it on its level as its left branch. */
const chains = new Set(["union", "intersect", "except", "join"]);

/**
 * An upper bound on the depth of the tree that a statement's tokens make, in one pass: on each open level, every
 * token since the last separator may nest one deeper (`- - - 1`, `1+1+1`), and every set operation or join too.
 */
export function estimateNesting(tokens: Iterable<string>): number {
  const outer: { run: number; chain: number }[] = [];
  let level = { run: 0, chain: 0 };
  let outerDepth = 0;
  let deepest = 0;
  for (const text of tokens) {
    if (text === deepComment) return Infinity;
    const word = text.length > 9 ? "" : text.toLowerCase();
    if (closes.has(word)) {
      level = outer.pop() ?? { run: 0, chain: 0 };
      outerDepth = Math.max(0, outerDepth - level.run - level.chain);
    } else if (separators.has(word)) {
      level.run = 0;
    } else if (chains.has(word)) {
      level.run = 0;
      level.chain++;
    } else {
      level.run++;
    }
    if (opens.has(word)) {
      outer.push(level);
      outerDepth += level.run + level.chain;
      level = { run: 0, chain: 0 };
    }
    deepest = Math.max(deepest, outerDepth + level.run + level.chain);
  }
  return deepest;
}
