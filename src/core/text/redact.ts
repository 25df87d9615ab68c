export const redacted = "[redacted]";

const secretName =
  /^(.*[_-])?(password|passwd|passphrase|secret|token|api[_-]?key|authorization|cookie|credentials?|private[_-]?key)$/i;

const secretTexts: readonly [RegExp, string][] = [
  // a URL's password; the bounds keep a text without one from taking quadratic time
  [/(\b[a-z][a-z0-9+.-]{0,30}:\/\/[^\s:/@]{0,256}:)[^\s@/]{1,1024}@/gi, `$1${redacted}@`],
  // an Authorization header's value
  [/\b(bearer|basic)\s+[A-Za-z0-9\-._~+/]{8,}=*/gi, `$1 ${redacted}`],
  // keyword=value connection strings and query strings; an API token's id is no secret, and neither is what our own
  // messages say of a file, as in "/run/openai-api-key: expected one line"
  [
    /\b(password|passwd|api[_-]?key|secret|token)(\s{0,16}[=:]\s{0,16})(["']?)(?!token-\d+\b)(?!(?<=\/[^\s?&=:"']{0,200}: )(?:expected|permission|no|not|it|is|cannot) )[^\s"'&,;]+\3/gi,
    `$1$2${redacted}`,
  ],
  // signed tokens of others (RFC 7515 section 7.1): their header begins with {"
  [/\beyJ[\w-]{16,}(?:\.[\w-]+)*/g, redacted],
  // our tokens and the keys of well-known vendors
  [/\b(pst_|sk-|sk-ant-|pa-|AIza)[A-Za-z0-9_-]{16,}(?:\.[A-Za-z0-9_-]{16,})*/g, redacted],
];

/** Replaces what looks like a credential inside a text. */
export function redactText(text: string): string {
  return secretTexts.reduce((current, [pattern, replacement]) => current.replace(pattern, replacement), text);
}

/** A copy of a value, fit for a log: members with a secret's name are replaced, texts are scanned, depth is bounded. */
export function redactValue(value: unknown, depth = 4): unknown {
  if (typeof value === "string") return redactText(value);
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error) return redactText(value.message);
  if (depth === 0) return "[…]";
  if (Array.isArray(value)) return value.slice(0, 50).map((item) => redactValue(item, depth - 1));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      secretName.test(key) && item !== null && item !== undefined && typeof item !== "boolean"
        ? redacted
        : redactValue(item, depth - 1),
    ]),
  );
}
