/** A page's part under one `##` heading. */
export interface HandbookSection {
  /** The file's name without its ending. */
  readonly page: string;
  readonly title: string;
  readonly section: string;
  readonly audience: string;
  /** As in `2025-01-31`. */
  readonly updatedOn: string;
  /** Markdown; its first line is a heading that names page and section. */
  readonly content: string;
}

const pageStart = /^---\naudience: (\w+)\nupdated: (\d{4}-\d\d-\d\d)\n---\n+# (.+)\n/;

/**
 * Cuts a page at its `##` headings; what precedes the first one stays with the first section.
 *
 * @throws {TypeError} where the page doesn't begin with front matter (`audience`, `updated`) and a title
 */
export function handbookSections(page: string, markdown: string): HandbookSection[] {
  const start = pageStart.exec(markdown);
  if (start === null) {
    throw new TypeError(`Cannot read the handbook's page ${page}: it has no front matter and title`);
  }
  const [whole, audience = "", updatedOn = "", title = ""] = start;
  const [opening = "", ...parts] = markdown.slice(whole.length).split(/^## /m);
  return parts.map((part, index) => {
    const section = part.slice(0, part.indexOf("\n"));
    const body = part.slice(section.length).trim();
    const text = index === 0 ? `${opening.trim()}\n\n${body}`.trim() : body;
    return { page, title, section, audience, updatedOn, content: `# ${title} › ${section}\n\n${text}` };
  });
}
