const maxCharacters = 120;

/** What people call a document: its title, else the first line of its text, without the marks of a heading. */
export function documentTitle(
  { title, content }: { readonly title?: string; readonly content: string },
): string {
  const line = title?.trim() || content.trim().split("\n", 1)[0]?.replace(/^#+\s*/, "").trim() || "Untitled";
  const characters = [...line.slice(0, 2 * maxCharacters)];
  return characters.length <= maxCharacters ? line : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}
