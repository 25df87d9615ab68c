/** The formats that are read, by the suffixes of files' names; a name without a suffix has the empty one. */
export const documentFormats = {
  Markdown: ["md", "markdown"],
  HTML: ["html", "htm", "xhtml"],
  PDF: ["pdf"],
  Word: ["docx", "docm"],
  PowerPoint: ["pptx", "pptm", "ppsx"],
  Excel: ["xlsx", "xlsm"],
  EPUB: ["epub"],
  "e-mail": ["eml"],
  CSV: ["csv", "tsv"],
  JSON: ["jsonl", "ndjson", "json"],
  code: (
    "c h cc cpp cxx hpp cs java kt kts scala groovy go rs zig swift m dart js mjs cjs jsx ts mts cts tsx vue svelte " +
    "py rb php pl pm lua r jl hs ml mli fs ex exs erl clj lisp el sql sh bash zsh ps1 vb pas f90 proto graphql tf"
  ).split(" "),
  text: ["txt", "text", ""],
  log: ["log"],
  reStructuredText: ["rst"],
  AsciiDoc: ["adoc", "asciidoc"],
} satisfies Readonly<Record<string, readonly string[]>>;

/** How a document is read. A file of any format that begins as a PDF does is read as one. */
export type DocumentFormat = keyof typeof documentFormats;

const formatsBySuffix: ReadonlyMap<string, DocumentFormat> = new Map(
  (Object.keys(documentFormats) as DocumentFormat[]).flatMap((format) =>
    documentFormats[format].map((suffix) => [suffix, format] as const)
  ),
);

/** Why a file is left out whose suffix none of the formats has. */
export const unknownFormat = "its format is not read";

/**
 * @param path with `/`
 * @returns undefined where files with that suffix are not read
 */
export function formatOf(path: string): DocumentFormat | undefined {
  return formatsBySuffix.get(suffixOf(path).toLowerCase());
}

/** The part of a name behind its last dot; empty where that is its first character, or there is none. */
export function suffixOf(path: string): string {
  const name = path.slice(path.lastIndexOf("/") + 1);
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? "" : name.slice(dot + 1);
}
