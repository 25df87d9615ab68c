/**
 * The values that CHECK expressions list for their one column, as PostgreSQL writes the expressions: `(a = ANY
 * (ARRAY['x'::text, 'y'::text]))`, `(a = 'x'::text)`, and those joined by OR. Where several list values, those that
 * all of them list. Empty where none is a plain list.
 */
export function allowedValues(expressions: readonly string[]): string[] {
  const lists = expressions.map(listedValues).filter((list) => list !== undefined);
  const [first, ...others] = lists;
  if (first === undefined) return [];
  return [...new Set(first)].filter((value) => others.every((list) => list.includes(value)));
}

type Token =
  | { readonly kind: "literal" | "name"; readonly text: string }
  | { readonly kind: "sign"; readonly text: string };

const tokenPattern =
  /\s*(?:(E?)'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)(?![\w.])|"((?:[^"]|"")*)"|([\p{L}_][\p{L}\p{N}_$]*)|(::|<=|>=|<>|[^\s\w]))/uy;

function listedValues(expression: string): string[] | undefined {
  const tokens = tokenize(expression);
  if (tokens === undefined) return undefined;
  const values: string[] = [];
  for (const clause of splitBy(withoutParentheses(withoutCasts(tokens)), "OR")) {
    const listed = clauseValues(clause);
    if (listed === undefined) return undefined;
    values.push(...listed);
  }
  return values.length === 0 ? undefined : values;
}

function tokenize(expression: string): Token[] | undefined {
  const tokens: Token[] = [];
  tokenPattern.lastIndex = 0;
  const text = expression.trim();
  while (tokenPattern.lastIndex < text.length) {
    const match = tokenPattern.exec(text);
    if (match === null) return undefined;
    const [, escape, string, number, quoted, word, sign] = match;
    if (string !== undefined) {
      const plain = string.replaceAll("''", "'");
      tokens.push({ kind: "literal", text: escape === "E" ? plain.replaceAll("\\\\", "\\") : plain });
    } else if (number !== undefined) tokens.push({ kind: "literal", text: number });
    else if (quoted !== undefined) tokens.push({ kind: "name", text: quoted });
    else if (word !== undefined) tokens.push({ kind: "name", text: word });
    else tokens.push({ kind: "sign", text: sign ?? "" });
  }
  return tokens;
}

// the further words of types that have more than one
const typeWords = new Set(["varying", "precision", "with", "without", "time", "zone"]);

/** A cast of a literal or a column says nothing of its value: `::numeric(12,2)`, `::character varying[]`. */
function withoutCasts(tokens: readonly Token[]): Token[] {
  const kept: Token[] = [];
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    if (token?.text !== "::" || token.kind !== "sign") {
      if (token !== undefined) kept.push(token);
      continue;
    }
    index++;
    while (isSign(tokens[index + 1], ".")) index += 2;
    while (true) {
      const next = tokens[index + 1];
      if (next?.kind === "name" && typeWords.has(next.text)) index++;
      else if (isSign(next, "[") && isSign(tokens[index + 2], "]")) index += 2;
      else if (isSign(next, "(") && tokens[index + 2]?.kind === "literal") {
        while (!isSign(tokens[++index], ")") && index < tokens.length);
      } else break;
    }
  }
  return kept;
}

// a call, `lower(a)`, stays two names side by side without them, which is no clause
function withoutParentheses(tokens: readonly Token[]): Token[] {
  return tokens.filter((token) => !isSign(token, "(") && !isSign(token, ")"));
}

/** Undefined for what is no list of values; `a IS NULL` lists none. */
function clauseValues([subject, ...rest]: readonly Token[]): string[] | undefined {
  if (subject?.kind !== "name") return undefined;
  const [first, second, third, fourth] = rest;
  if (rest.length === 2 && isName(first, "IS") && isName(second, "NULL")) return [];
  if (!isSign(first, "=")) return undefined;
  if (rest.length === 2) return second?.kind === "literal" ? [second.text] : undefined;
  if (!isName(second, "ANY")) return undefined;
  if (rest.length === 3) return third?.kind === "literal" ? arrayValues(third.text) : undefined;
  if (!isName(third, "ARRAY") || !isSign(fourth, "[") || !isSign(rest.at(-1), "]")) return undefined;
  const items = splitBy(rest.slice(4, -1), ",");
  const values = items.flatMap((item) =>
    item.length === 1 && item[0]?.kind === "literal" ? [item[0].text] : []
  );
  return values.length === items.length ? values : undefined;
}

/** An array's text, where its elements need no quotes. */
function arrayValues(text: string): string[] | undefined {
  return /^\{[^{}"\\]+\}$/.test(text) ? text.slice(1, -1).split(",") : undefined;
}

function splitBy(tokens: readonly Token[], separator: string): Token[][] {
  const parts: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind !== "literal" && token.text === separator) parts.push([]);
    else parts.at(-1)?.push(token);
  }
  return parts;
}

function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === "sign" && token.text === text;
}

function isName(token: Token | undefined, text: string): boolean {
  return token?.kind === "name" && token.text === text;
}
