/**
 * Deepest nesting that the recursive parts of the parser are given. They overflow at more than twice this depth. Some
 * dozens of overflows break the parser's memory, so no overflow may happen.
 */
export const maxNesting = 2_000;

/** Nodes that a bracket may stand for besides itself, as `(SELECT` stands for a link, a query and a target. */
const bracketWeight = 4;

/** Each of these takes all that stands before it on its level as its left branch, past commas. */
const chains = new Set(["union", "intersect", "except", "join", "atomic"]);

/** What stands between a bracket and its end. */
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

/** White space, a name or keyword, a number, or one character of anything else; quotes and comments come before. */
const plainToken = /[ \t\n\r\f\v]+|[A-Za-z_\u0080-\uFFFF][\w$\u0080-\uFFFF]*|\d+|::|[^]/y;
const standardString = /'[^']*(?:''[^']*)*'/y;
// a string that goes on in a new line has escapes there too
const escapeString = /'[^'\\]*(?:(?:''|\\[^]|'[ \t\f\v]*[\n\r][ \t\n\r\f\v]*')[^'\\]*)*'/y;
const quotedName = /"[^"]*(?:""[^"]*)*"/y;
const dollarTag = /\$(?:[A-Za-z_\u0080-\uFFFF][\w\u0080-\uFFFF]*)?\$/y;
const lineEnd = /[\r\n]/g;
const commentEdge = /\/\*|\*\//g;

/**
 * Stands for a comment that nests deeper than anyone writes, or is one too many: the scanner's time grows with the
 * square of either, to a second for a thousand levels or ten thousand comments.
 */
const endlessComments = "/*";
export const maxCommentDepth = 50;
export const maxComments = 500;

/**
 * The tokens of a statement as PostgreSQL's scanner sees them, except that an operator comes in single characters and
 * that a string or quoted name comes as an empty text. Comments and white space are left out. Stops at what is not
 * ended, since the scanner does too.
 */
export function* readTokens(sql: string): Generator<string> {
  let at = 0;
  let previous = "";
  let comments = 0;
  while (at < sql.length) {
    const quoted = endOfQuoted(sql, at, /^[eE]$/.test(previous));
    if (sql[at] === "/" && quoted !== undefined) comments++;
    if (quoted === tooDeep || comments > maxComments) {
      yield endlessComments;
      return;
    }
    if (quoted === unended) return;
    if (quoted !== undefined) {
      if (sql[at] !== "-" && sql[at] !== "/") yield "";
      at = quoted;
      previous = "";
      continue;
    }
    const end = match(plainToken, sql, at) ?? at + 1;
    previous = sql.slice(at, end);
    at = end;
    if (!/^[ \t\n\r\f\v]/.test(previous)) yield previous;
  }
}

const unended = -1;
const tooDeep = -2;

/** Where the comment, string or quoted name that begins here ends, if it does; undefined where none begins. */
function endOfQuoted(sql: string, at: number, escapes: boolean): number | undefined {
  switch (sql[at]) {
    case "'":
      return match(escapes ? escapeString : standardString, sql, at) ?? unended;
    case '"':
      return match(quotedName, sql, at) ?? unended;
    case "$":
      return endOfDollarQuoted(sql, at);
    case "-":
      return sql[at + 1] === "-" ? indexAfter(lineEnd, sql, at) : undefined;
    case "/":
      return sql[at + 1] === "*" ? endOfComment(sql, at) : undefined;
    default:
      return undefined;
  }
}

function endOfDollarQuoted(sql: string, at: number): number | undefined {
  const tagEnd = match(dollarTag, sql, at);
  if (tagEnd === undefined) return undefined;
  const close = sql.indexOf(sql.slice(at, tagEnd), tagEnd);
  return close < 0 ? unended : close + tagEnd - at;
}

/** Comments nest. */
function endOfComment(sql: string, at: number): number {
  let depth = 0;
  commentEdge.lastIndex = at;
  for (let edge = commentEdge.exec(sql); edge !== null; edge = commentEdge.exec(sql)) {
    depth += edge[0] === "/*" ? 1 : -1;
    if (depth === 0) return commentEdge.lastIndex;
    if (depth > maxCommentDepth) return tooDeep;
  }
  return unended;
}

function match(pattern: RegExp, sql: string, at: number): number | undefined {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : undefined;
}

function indexAfter(pattern: RegExp, sql: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(sql) ? pattern.lastIndex : sql.length;
}
