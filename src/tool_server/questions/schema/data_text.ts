const longest = 120;

/**
 * Text from the database as one line of a prompt's comment: at most 120 characters, without control characters, marks
 * that direct a line's reading, backticks or the ends of a comment.
 */
export function dataLine(text: string): string {
  const head = text.slice(0, 4 * longest).normalize("NFC");
  const line = head.replace(/\*\/|\/\*|`/g, " ").replace(/[\p{C}\p{Z}\s]+/gu, " ").trim();
  const characters = [...line];
  return characters.length <= longest ? line : `${characters.slice(0, longest - 1).join("")}…`;
}
