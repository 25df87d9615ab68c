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
export const endlessComments = "/*";
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
