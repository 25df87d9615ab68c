/**
 * The columns for details of a chunk, besides its text and vector, in a table that is made; others may have some of them. Rows
 * that applications write need not have all.
 */
export const detailTypes = {
  source: "text NOT NULL",
  title: "text NOT NULL",
  heading: "text",
  position: "int NOT NULL",
  page: "int",
  char_start: "int",
  char_end: "int",
} as const;

/** What the settings call front matter; its keys follow. */
export const frontMatter = "front_matter.";

/** Whether a rule names a key of front matter, or is a regular expression with a group for the value. */
export function isMetadataRule(rule: string): boolean {
  if (rule.startsWith(frontMatter)) return rule.slice(frontMatter.length).split(".").every(Boolean);
  try {
    // what matches an empty text has all groups, unfilled
    return (new RegExp(`${rule}|`, "u").exec("")?.length ?? 0) > 1;
  } catch {
    return false;
  }
}
