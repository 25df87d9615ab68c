/**
 * Puts a mark in place of every stretch of a text that pieces cover, whatever their case. Takes time in proportion to
 * the text.
 * @param pieces all of one length and in lower case, as `piecesOf` makes them
 */
export function cutOutPieces(
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
export function piecesOf(text: string, length: number, step = 1): string[] {
  const last = text.length - length;
  if (last < 0) return [];
  const count = Math.ceil(last / step) + 1;
  return Array.from({ length: count }, (_, index) => {
    const at = Math.min(index * step, last);
    return text.slice(at, at + length).toLowerCase();
  });
}
