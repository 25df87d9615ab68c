import { redacted, redactText } from "../../core/redact.ts";
import { cutOutPieces, piecesOf } from "./cut_out_pieces.ts";

/** The shortest piece of a secret that is taken out. */
const pieceLength = 8;
/** Shorter secrets are words such as `none`, and taking them out would leave no readable text. */
const shortestSecret = 4;
/** No word that a reader needs is longer; patterns that go back over what they read stay cheap below it. */
const longestWord = 200;

// a vendor's way of showing which key it means: `sk-ab***wxyz`
const maskedKey = /\b(?:sk|pa|pst|AIza)[-_\w]{0,64}(?:\*{2,}|…|\.{3})[-_\w*.…]{0,64}/g;
// keys that travel in a query stand in the errors of the runtime and in redirects
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

/** Unlike a word of any language: digits, a mask, or capitals in the middle. */
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
