/**
 * A piece of SQL with its parameters, put together from smaller pieces. Parameters get their numbers only when the whole
 * is rendered, so a piece fits anywhere in a statement.
 */
export interface SqlText {
  /** One more than there are parameters: each parameter stands between two parts. */
  readonly parts: readonly string[];
  /** In PostgreSQL's text format; the SQL around a parameter gives it a type. */
  readonly parameters: readonly (string | null)[];
}

/** What a driver takes: parameters are `$1`, `$2`, and so on. */
export interface RenderedSql {
  readonly sql: string;
  readonly parameters: readonly (string | null)[];
}

/** A template of SQL: a piece is put in as it is, anything else becomes a parameter. */
export function sql(
  strings: TemplateStringsArray,
  ...values: readonly (SqlText | string | number | null)[]
): SqlText {
  const parts = [strings[0] ?? ""];
  const parameters: (string | null)[] = [];
  const append = (text: string) => parts.push((parts.pop() ?? "") + text);
  values.forEach((value, at) => {
    if (typeof value === "object" && value !== null) {
      append(value.parts[0] ?? "");
      parts.push(...value.parts.slice(1));
      parameters.push(...value.parameters);
      append(strings[at + 1] ?? "");
    } else {
      parameters.push(value === null ? null : String(value));
      parts.push(strings[at + 1] ?? "");
    }
  });
  return { parts, parameters };
}

/** SQL that is known to be safe: our own, or an administrator's. */
export function verbatim(text: string): SqlText {
  return { parts: [text], parameters: [] };
}

/** Pieces one after the other. */
export function joinSql(pieces: readonly SqlText[], separator: string): SqlText {
  return pieces.reduce(
    (joined, piece, at) => at === 0 ? piece : sql`${joined}${verbatim(separator)}${piece}`,
    verbatim(""),
  );
}

/** The statement with its parameters numbered. */
export function renderSql({ parts, parameters }: SqlText): RenderedSql {
  const text = parts.reduce((rendered, part, at) => at === 0 ? part : `${rendered}$${at}${part}`, "");
  return { sql: text, parameters };
}
