import { redacted, redactText } from "../../core/text/redact.ts";

/** The shortest piece of a secret that is taken out. */
const pieceLength = 8;
/** The shortest piece of a request's own texts that is taken out. */
const echoLength = 16;
/** Shorter secrets are words such as `none`, and taking them out would leave no readable text. */
const shortestSecret = 4;
/** No word that a reader needs is longer. The bound keeps the patterns below from taking quadratic time. */
const longestWord = 200;

// a vendor's way of showing which key it means: `sk-ab***wxyz`
const maskedKey = /\b(?:sk|pa|pst|AIza)[-_\w]{0,64}(?:\*{2,}|…|\.{3})[-_\w*.…]{0,64}/g;
// the runtime's errors and redirects quote URLs, whose queries may hold keys
const urlQuery = /(https?:\/\/[^\s?"'<>()]{1,300}\?)[^\s"'<>()]+/gi;
const namedWord =
  /\b(api[_ -]?key|key|token|secret|credentials?|password)(\W{1,4}(?:(?:provided|supplied|given|was|is|value)\W{1,4}){0,2})([\w\-.*…+/=~]{8,})/gi;

/**
 * Takes out of a text what looks like a credential: every piece of 8 characters or more of the given secrets, whatever
 * its case, as it is and as a URL, JSON or Base64 writes it; what `redactText` knows; the queries of URLs;
 * random-looking words after words like "key". Takes time in proportion to the text and the secrets.
 * @param secrets those of fewer than 8 characters are taken out as a whole, those of fewer than 4 are left alone
 */
export function scrubSecrets(text: string, secrets: readonly string[]): string {
  const kept = cutOutSecrets(text, secrets)
    .replace(/[\w+.\-]+/g, (word) => word.length > longestWord ? `${word.slice(0, longestWord)}…` : word)
    .replace(urlQuery, `$1${redacted}`)
    .replace(maskedKey, redacted)
    .replace(
      namedWord,
      (whole, name: string, between: string, word: string) =>
        looksRandom(word) ? `${name}${between}${redacted}` : whole,
    );
  return redactText(kept);
}

/** No word of a language has digits, a mask, or capitals in the middle. */
function looksRandom(word: string): boolean {
  return /[0-9*…]/.test(word) || /[a-z][A-Z]/.test(word);
}

function cutOutSecrets(text: string, secrets: readonly string[]): string {
  const forms = [
    ...new Set(secrets.filter((secret) => secret.length >= shortestSecret).flatMap(writtenForms)),
  ];
  const pieces = new Set(forms.flatMap((form) => piecesOf(form, pieceLength)));
  return forms
    .filter((form) => form.length < pieceLength)
    .reduce(
      (rest, form) => rest.replaceAll(form, redacted),
      cutOutPieces(text, pieces, pieceLength, redacted),
    );
}

function writtenForms(secret: string): string[] {
  const bytes = new TextEncoder().encode(secret);
  const base64 = [0, 1, 2].map((offset) => base64Inside(bytes, offset));
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    // a lone surrogate cannot be written in a URL
    encodeURIComponent(secret.toWellFormed()),
    ...base64,
    ...base64.map((text) => text.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

/** The bytes' own digits in the Base64 of a longer text in which they stand at a place with this remainder by 3. */
function base64Inside(bytes: Uint8Array, offset: number): string {
  const padded = String.fromCharCode(...new Uint8Array(offset), ...bytes);
  const firstDigit = Math.ceil(offset * 8 / 6);
  const endDigit = Math.floor((offset + bytes.length) * 8 / 6);
  return btoa(padded).slice(firstDigit, endDigit);
}

/**
 * Takes out of a provider's error what it repeats of the request's texts: some servers quote the whole body that they
 * refuse, and prompts belong in no log. Of a stretch that is repeated in part, up to 15 characters stay at either end.
 * @param sent the request's body; its strings without a space are names, such as the model's, and stay
 */
export function cutOutEcho(text: string, sent: unknown): string {
  const forms = textsIn(sent).flatMap((own) => [own, JSON.stringify(own).slice(1, -1)]);
  const pieces = new Set(forms.flatMap((form) => piecesOf(form, echoLength, echoLength)));
  return cutOutPieces(text, pieces, echoLength, "[…]");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return /\s/.test(value) ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

/**
 * Puts a mark in place of every stretch of a text that pieces cover, whatever their case. Takes time in proportion to
 * the text.
 * @param pieces all of one length and in lower case, as `piecesOf` makes them
 */
function cutOutPieces(
  text: string,
  pieces: ReadonlySet<string>,
  length: number,
  mark: string,
): string {
  const isPiece = (at: number) => pieces.has(text.slice(at, at + length).toLowerCase());
  let result = "";
  let keptFrom = 0;
  for (let at = 0; at < text.length;) {
    if (!isPiece(at)) {
      at++;
      continue;
    }
    let end = at + length;
    for (let next = at + 1; next <= end; next++) if (isPiece(next)) end = next + length;
    result += text.slice(keptFrom, at) + mark;
    keptFrom = at = end;
  }
  return result + text.slice(keptFrom);
}

/** A text's pieces of one length, one at every `step` characters, and its last; in lower case, none of a shorter text. */
function piecesOf(text: string, length: number, step = 1): string[] {
  const last = text.length - length;
  if (last < 0) return [];
  const count = Math.ceil(last / step) + 1;
  return Array.from({ length: count }, (_, index) => {
    const at = Math.min(index * step, last);
    return text.slice(at, at + length).toLowerCase();
  });
}
