import { localEmbedding } from "../llm/local/local_embedding.ts";
import { type HandbookSection, handbookSections } from "./handbook_sections.ts";
import { commentStatements, insertStatement } from "./insert_statement.ts";

/** The handbook's pages as Markdown. */
export const handbookFolder = new URL("./handbook/", import.meta.url);

const handbookTable = `
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE handbook_pages (
  id bigint PRIMARY KEY,
  page text NOT NULL,
  title text NOT NULL,
  section text NOT NULL,
  audience text NOT NULL CHECK (audience IN ('everyone', 'managers', 'warehouse')),
  updated_on date NOT NULL,
  content text NOT NULL,
  embedding vector(256) NOT NULL,
  UNIQUE (page, section)
);
`;

const handbookComments = {
  "TABLE handbook_pages": "The shop's handbook for its employees, one row for each section of a page",
  "COLUMN handbook_pages.page": "Short name of the page, for example shipping",
  "COLUMN handbook_pages.title": "The page's heading",
  "COLUMN handbook_pages.section": "The section's heading",
  "COLUMN handbook_pages.audience": "Whom the page is for: everyone, managers or warehouse",
  "COLUMN handbook_pages.updated_on": "Day of the page's last change",
  "COLUMN handbook_pages.content": "Markdown; the first line names page and section",
  "COLUMN handbook_pages.embedding": "Of the content, made by the provider local",
};

/** The SQL that makes the handbook in an empty database, to be run by a superuser in this order. */
export async function demoHandbookSql(): Promise<string[]> {
  const sections = await readHandbook();
  const { vectors } = await localEmbedding().embed({
    texts: sections.map(({ content }) => content),
    purpose: "document",
    signal: new AbortController().signal,
  });
  const rows = sections.map(({ page, title, section, audience, updatedOn, content }, index) => [
    index + 1,
    page,
    title,
    section,
    audience,
    updatedOn,
    content,
    `[${vectors[index]?.join()}]`,
  ]);
  const columns = "id page title section audience updated_on content embedding".split(" ");
  return [
    handbookTable,
    insertStatement({ table: "handbook_pages", columns, rows }),
    "CREATE INDEX handbook_pages_embedding_idx ON handbook_pages USING hnsw (embedding vector_cosine_ops)",
    ...commentStatements(handbookComments),
    "ANALYZE handbook_pages",
  ];
}

/** All sections, the pages in the order of their names. */
export async function readHandbook(): Promise<HandbookSection[]> {
  const files = (await Array.fromAsync(Deno.readDir(handbookFolder)))
    .map(({ name }) => name)
    .filter((name) => name.endsWith(".md"))
    .sort();
  const pages = files.map(async (name) =>
    handbookSections(name.slice(0, -".md".length), await Deno.readTextFile(new URL(name, handbookFolder)))
  );
  return (await Promise.all(pages)).flat();
}
