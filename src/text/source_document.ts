/** What any file comes to, whatever its format, before it is cut into chunks. */
export interface SourceDocument {
  readonly title: string;
  /** In reading order. */
  readonly sections: readonly DocumentSection[];
}

export interface DocumentSection {
  /** From the outermost heading to the section's own; none before a document's first heading. */
  readonly headings: readonly string[];
  readonly blocks: readonly DocumentBlock[];
}

export interface DocumentBlock {
  readonly kind: "paragraph" | "list" | "code" | "table" | "quote";
  /** Of a table, a row a line, `| a | b |`; after the header's row comes a row of dashes. */
  readonly text: string;
}
