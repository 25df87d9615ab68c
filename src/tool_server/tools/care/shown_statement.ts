/** What a model is shown of a statement's text, in characters. */
const maxShown = 1_000;

const withPlaceholders = /^(?:select|insert|update|delete|merge|values|table|with)\b/i;

/** SELECT INTO, which makes a table and so is a command, whatever it begins like; INSERT and MERGE have an INTO of their own. */
const intoTable = /(?<!\b(?:insert|merge)\s*)\binto\b/i;

/**
 * The text of a counted statement, as far as it may be told. pg_stat_statements puts `$1` for the constants of queries and
 * writes alone. Before PostgreSQL 16 it keeps those of every other command as they came, a password in ALTER ROLE for
 * example: of these no more than the command is told.
 */
export function shownStatement(text: string): string {
  const bare = withoutLeadingComments(text);
  if (!withPlaceholders.test(bare)) {
    const command = /^[a-z]+(?:\s+[a-z]+)?/i.exec(bare)?.[0].replace(/\s+/g, " ").toUpperCase();
    return command === undefined ? "(a command)" : `${command} …`;
  }
  if (intoTable.test(bare)) return "SELECT INTO …";
  return text.length <= maxShown ? text : `${text.slice(0, maxShown)}… (${text.length} characters)`;
}

function withoutLeadingComments(text: string): string {
  let rest = text;
  for (;;) {
    const before = rest;
    rest = rest.replace(/^[\s(;]+/, "").replace(/^--[^\n]*(?:\n|$)/, "");
    if (rest.startsWith("/*")) rest = rest.slice(commentLength(rest));
    if (rest === before) return rest;
  }
}

/** Comments nest. One without an end takes all that is left. */
function commentLength(text: string): number {
  let depth = 0;
  for (const mark of text.matchAll(/\/\*|\*\//g)) {
    depth += mark[0] === "/*" ? 1 : -1;
    if (depth === 0) return mark.index + 2;
  }
  return text.length;
}
