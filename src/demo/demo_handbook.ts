import { basename } from "node:path";
import type { PipelineConfig } from "../config/mod.ts";
import { localEmbedding } from "../llm/local/local_embedding.ts";
import { insertStatement } from "./shop_rows.ts";

/** A page's part under one `##` heading. */
interface HandbookSection {
  /** The file's name without `.md`. */
  readonly page: string;
  readonly title: string;
  readonly section: string;
  readonly audience: string;
  /** As in `2025-01-31`. */
  readonly updatedOn: string;
  /** Markdown; its first line is a heading that names page and section. */
  readonly content: string;
}

/** The handbook's pages as Markdown. */
const handbookFolder = new URL("./handbook/", import.meta.url);

const handbookTable = (dimensions: number) => `
CREATE EXTENSION IF NOT EXISTS vector;
DROP TABLE IF EXISTS handbook_pages;
CREATE TABLE handbook_pages (
  id bigint PRIMARY KEY,
  page text NOT NULL,
  title text NOT NULL,
  section text NOT NULL,
  audience text NOT NULL CHECK (audience IN ('everyone', 'managers', 'warehouse')),
  updated_on date NOT NULL,
  content text NOT NULL,
  embedding vector(${dimensions}) NOT NULL,
  UNIQUE (page, section)
);

COMMENT ON TABLE handbook_pages IS 'The shop''s handbook for its employees, one row for each section of a page';
COMMENT ON COLUMN handbook_pages.page IS 'Short name of the page, for example shipping';
COMMENT ON COLUMN handbook_pages.title IS 'The page''s heading';
COMMENT ON COLUMN handbook_pages.section IS 'The section''s heading';
COMMENT ON COLUMN handbook_pages.audience IS 'Whom the page is for: everyone, managers or warehouse';
COMMENT ON COLUMN handbook_pages.updated_on IS 'Day of the page''s last change';
COMMENT ON COLUMN handbook_pages.content IS 'Markdown; the first line names page and section';
COMMENT ON COLUMN handbook_pages.embedding IS 'Of the content, by which pages near a question are found';
`;

/** The SQL that makes the handbook in place of one that is there, to be run by a superuser in this order. */
export async function demoHandbookSql(model = localEmbedding()): Promise<string[]> {
  const sections = await readHandbook();
  const { vectors } = await model.embed({
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
  const columns = "id page title section audience updated_on content embedding";
  return [
    handbookTable(vectors[0]?.length ?? 0),
    insertStatement({ table: "handbook_pages", columns, rows }),
    "CREATE INDEX handbook_pages_embedding_idx ON handbook_pages USING hnsw (embedding vector_cosine_ops)",
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

const local = {
  provider: "local",
  model: "",
  headers: [],
  request_timeout: 120_000,
  per_attempt_timeout: 0,
} as const;

/**
 * Answers from the shop's handbook, without a key or a network. Its database is the demo's own.
 *
 * @param path of a model of this machine. Optional: hashed embeddings
 */
export const demoPipeline = (path?: string): PipelineConfig => ({
  name: "handbook",
  description: "The handbook of the sample shop: leave, expenses, shipping, returns and more",
  examples: [
    "How many days of annual leave do I get?",
    "What may I claim for a meal on a trip?",
    "Until when can a customer return an order?",
  ],
  available_to_users: [],
  role_from_user: false,
  session_settings: {},
  database: {
    database: "shop",
    hosts: [],
    user: "postgres",
    sslmode: "disable",
    target_session_attrs: "any",
    pooler: "none",
    pool_max_conns: 10,
  },
  tables: [{
    table: "handbook_pages",
    text_column: "content",
    vector_column: "embedding",
    id_column: "id",
    filter_columns: ["page", "title", "section", "audience", "updated_on"],
  }],
  embedding_llm: path ? { ...local, provider: "onnx", model: basename(path), model_path: path } : local,
  rag_llm: [local],
  token_budget: 4_000,
  top_n: 5,
  search: { hybrid_enabled: true, vector_weight: path ? 0.5 : 0.3, rewrite_follow_ups: false },
  allow_include_sources: true,
});
