import { analyse } from "chardet";

/** The encoding of files without a byte order mark that are not UTF-8, name none and show none. */
const oldEncoding = "windows-1252";

/** Encodings whose bytes are those of ASCII, with escapes: as UTF-8 they are read without an error. */
const escaped = /^(?:iso-2022-|hz-)/i;
const japaneseEscapes = ["\u001b$@", "\u001b$B", "\u001b(J"];

/**
 * The bytes as text, or undefined where they are none.
 *
 * @param declared what the file, or who sends it, says: such as a page's `charset`. UTF-8 counts first, as many say wrong
 */
export function decodeText(bytes: Uint8Array, declared: string | undefined): string | undefined {
  const utf16 = findUtf16(bytes);
  if (utf16 !== undefined) return decodeAs(utf16, bytes);
  if (isBinary(bytes)) return undefined;
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, sampleBytes));
  const shown = japaneseEscapes.some((each) => start.includes(each)) ? "iso-2022-jp" : undefined;
  const stateful = escaped.test(declared ?? "") ? declared : shown;
  return decodeAs(stateful, bytes) ?? decodeAs("utf-8", bytes) ?? damagedUtf8(bytes) ??
    decodeAs(declared, bytes) ?? decodeByGuess(bytes) ?? decodeAs(oldEncoding, bytes);
}

/** UTF-8 with few wrong bytes. Even single words in other encodings have at most three letters of it for one such byte. */
function damagedUtf8(bytes: Uint8Array): string | undefined {
  const text = new TextDecoder().decode(bytes);
  const letters = text.replace(/\p{ASCII}+/gu, "");
  return letters.replaceAll("\ufffd", "").length >= 0.8 * letters.length ? text : undefined;
}

/** Of Latin letters few have accents: where more of a text is not ASCII, its script is another. */
const mostAccents = 0.3;

/** Between texts in Latin letters, from what confidence, in percent, a guess is better than the usual encoding. */
const sureEnough = 30;

const latin = /^(?:ISO-8859-[129]|windows-125[0247])$/;

/** Half of Japanese letters' bytes are from 0x80 to 0x9f, where encodings of one byte a letter have few signs. */
const leastOfJapanese = 0.3;
const ofOneByte = /^(?:ISO-8859|windows|KOI8)/;

function decodeByGuess(bytes: Uint8Array): string | undefined {
  const sample = bytes.subarray(0, sampleBytes);
  const letters = sample.filter((byte) => byte > 0x20);
  const foreign = letters.filter((byte) => byte >= 0x80);
  const isLatin = foreign.length <= mostAccents * letters.length;
  const isJapanese = foreign.filter((byte) => byte < 0xa0).length >= leastOfJapanese * foreign.length;
  const wrong = isJapanese ? ofOneByte : latin;
  const guess = analyse(sample).find(({ name, confidence }) =>
    (isLatin ? confidence >= sureEnough : !wrong.test(name)) && decodeAs(name, bytes) !== undefined
  );
  return decodeAs(guess?.name, bytes);
}

function decodeAs(encoding: string | undefined, bytes: Uint8Array): string | undefined {
  if (encoding === undefined) return undefined;
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    // bytes that are not in it, or an encoding that nobody knows
    return undefined;
  }
}

/** Without a mark, UTF-16 of mostly ASCII has a NUL in every other byte, and no other byte that no text has. */
function findUtf16(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf-16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf-16be";
  const sample = bytes.subarray(0, sampleBytes);
  const nuls = (odd: number) =>
    sample.filter((byte, at) => byte === 0 && at % 2 === odd).length / sample.length;
  const [even, odd] = [nuls(0), nuls(1)];
  if (Math.max(even, odd) < 0.3 || Math.min(even, odd) > 0.01) return undefined;
  if (sample.some((byte) => byte > 0 && byte < 8)) return undefined;
  return odd > even ? "utf-16le" : "utf-16be";
}

const sampleBytes = 65_536;

/** No text has NULs, and hardly any other control characters than blanks, form feeds and escapes. */
function isBinary(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, sampleBytes);
  let controls = 0;
  for (const byte of sample) {
    if (byte === 0) return true;
    if (byte < 8 || (byte > 13 && byte < 27)) controls++;
  }
  return controls * 100 > sample.length;
}
