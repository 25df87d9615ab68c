import { endlessComments } from "./tokens.ts";

/**
 * Deepest nesting that the recursive parts of the parser are given. They overflow at more than twice as much, and
 * after some dozens of overflows the parser's memory is broken, so an overflow should never come about.
 */
export const maxNesting = 2_000;

/** Nodes that a bracket may stand for besides itself, as `(SELECT` stands for a link, a query and a target. */
const bracketWeight = 4;

/** Each of these takes all that stands before it on its level as its left branch, past commas. */
const chains = new Set(["union", "intersect", "except", "join", "atomic"]);

/** One open bracket. */
interface Level {
  /** Tokens since the last place where all that came before is a branch of its own. */
  run: number;
  /** What of that place's depth counts for what follows it in the same CASE. */
  floor: number;
  chain: number;
  /** A BETWEEN is open, whose AND begins no branch beside it but one below. */
  between: boolean;
}

const newLevel = (): Level => ({ run: 0, floor: 0, chain: 0, between: false });

/**
 * An upper bound on the depth of the tree that a statement's tokens make, but for a few nodes at its ends, in one pass.
 * Each token since the last comma or bracket may nest one deeper (`- - - 1`, `1+1+1`). Any word may be a plain name,
 * so a word is only taken to end what came before where nothing could go on below it: OR, AND outside of BETWEEN, and
 * the parts of CASE, which count from the last `case`; each of them is an ordinary token after a dot, as in `a.or`.
 */
export function estimateNesting(tokens: Iterable<string>): number {
  const outer: Level[] = [];
  let level = newLevel();
  let outerDepth = 0;
  let deepest = 0;
  let previous = "";
  for (const text of tokens) {
    if (text === endlessComments) return Infinity;
    const word = text.length > 9 ? "" : text.toLowerCase();
    if (word === "(" || word === "[") {
      level.run += 1 + bracketWeight;
      outerDepth += level.run + level.chain;
      outer.push(level);
      level = newLevel();
    } else if (word === ")" || word === "]") {
      level = outer.pop() ?? newLevel();
      outerDepth = Math.max(0, outerDepth - level.run - level.chain);
    } else {
      countToken(level, word, previous === "." || previous === "as");
    }
    previous = word;
    deepest = Math.max(deepest, outerDepth + level.run + level.chain);
  }
  return deepest;
}

function countToken(level: Level, word: string, isName: boolean): void {
  level.run++;
  if (chains.has(word)) level.chain += 2;
  switch (word) {
    case ",":
      level.run = 0;
      level.floor = 0;
      level.between = false;
      return;
    case "between":
      level.between = true;
      return;
    case "case":
      level.floor = Math.max(level.floor, level.run + 2);
      return;
    case "and":
      if (!isName && !level.between) level.run = level.floor;
      return;
    case "or":
    case "when":
    case "then":
    case "else":
      if (isName) return;
      level.run = level.floor;
      level.between = false;
      return;
    case "union":
    case "intersect":
    case "except":
      if (isName) return;
      level.run = 0;
      level.floor = 0;
      level.between = false;
  }
}
