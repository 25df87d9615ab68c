const scheme = "postern://pipelines/";

/** A document of a pipeline. */
export interface DocumentAddress {
  readonly pipeline: string;
  /** As the pipeline gave it. */
  readonly key: string;
}

export const documentTemplate = `${scheme}{name}/{id}`;

/** An id for `fetch`: what follows the scheme in the document's address. */
export function documentId({ pipeline, key }: DocumentAddress): string {
  return `${encodeURIComponent(pipeline)}/${key}`;
}

export function documentUri(address: DocumentAddress): string {
  return `${scheme}${documentId(address)}`;
}

/** Reads an id or an address of a resource; undefined where it can be neither. */
export function readDocumentId(text: string): DocumentAddress | undefined {
  const [, name, key] = /^([^/]+)\/([A-Za-z0-9._~-]+)$/.exec(withoutScheme(text)) ?? [];
  if (name === undefined || key === undefined) return undefined;
  try {
    return { pipeline: decodeURIComponent(name), key };
  } catch {
    return undefined;
  }
}

/** Whether a text begins as the address of a document does. */
export function isDocumentUri(text: string): boolean {
  return text.startsWith(scheme);
}

function withoutScheme(text: string): string {
  return isDocumentUri(text) ? text.slice(scheme.length) : text;
}

const maxCharacters = 120;

/** What people call a document: its title, else the first line of its text, without the marks of a heading. */
export function documentTitle(
  { title, content }: { readonly title?: string; readonly content: string },
): string {
  const line = title?.trim() || content.trim().split("\n", 1)[0]?.replace(/^#+\s*/, "").trim() || "Untitled";
  const characters = [...line.slice(0, 2 * maxCharacters)];
  return characters.length <= maxCharacters ? line : `${characters.slice(0, maxCharacters - 1).join("")}…`;
}
