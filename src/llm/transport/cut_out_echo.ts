import { cutOutPieces, piecesOf } from "./cut_out_pieces.ts";

const pieceLength = 16;

/**
 * Takes out of a provider's error what it repeats of the request's texts: some servers quote the whole body that they
 * refuse, and prompts belong in no log. Of a stretch that is repeated in part, up to 15 characters stay at either end.
 * @param sent the request's body; its strings without a space are names, such as the model's, and stay
 */
export function cutOutEcho(text: string, sent: unknown): string {
  const forms = textsIn(sent).flatMap((own) => [own, JSON.stringify(own).slice(1, -1)]);
  const pieces = new Set(forms.flatMap((form) => piecesOf(form, pieceLength, pieceLength)));
  return cutOutPieces(text, pieces, pieceLength, "[…]");
}

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return /\s/.test(value) ? [value] : [];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(textsIn) : [];
}
