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
