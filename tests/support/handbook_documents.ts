import { createTestDatabase, type TestDatabase } from "./database.ts";

const topics = ["leave", "expense", "laptop", "parking", "gold", "safety", "training"];

/** The vector of a text: how often it names each topic, and a little in common with all others. */
export function topicVector(text: string): number[] {
  const counts = topics.map((topic) => text.toLowerCase().split(topic).length - 1);
  return [...counts, 0.1];
}

export interface HandbookPage {
  readonly id: number;
  readonly content: string;
  readonly audience: "all" | "managers" | "contractors";
  readonly year: number;
}

export const pages: readonly HandbookPage[] = [
  { id: 1, content: "Annual leave is 25 days for all employees.", audience: "all", year: 2026 },
  { id: 2, content: "Contractors have no paid leave.", audience: "contractors", year: 2026 },
  { id: 3, content: "An expense above 500 euros needs a director.", audience: "managers", year: 2025 },
  { id: 4, content: "Each laptop is encrypted; report a lost one at once.", audience: "all", year: 2024 },
  { id: 5, content: "Parking is free behind building Quokka7.", audience: "all", year: 2026 },
  { id: 6, content: "The gold tier gets support around the clock.", audience: "all", year: 2025 },
  { id: 7, content: "Unpaid leave was granted by the board until 2023.", audience: "all", year: 2023 },
];

/** A database with the handbook in `pages`, and in `faqs` what customers ask. */
export async function createHandbookDatabase(): Promise<TestDatabase> {
  const database = await createTestDatabase();
  await database.query(`
    CREATE EXTENSION vector;
    CREATE TABLE pages (id int PRIMARY KEY, content text, audience text, year int, embedding vector(8));
    CREATE TABLE faqs (code text PRIMARY KEY, body text, embedding vector(8));
    INSERT INTO faqs VALUES ('gold-1', 'Gold customers pay 40 euros a month.', '${vectorText("gold")}');
    ${pages.map(insertPage).join("\n")}`);
  return database;
}

/** A statement that adds a page. */
export function insertPage({ id, content, audience, year }: HandbookPage): string {
  const text = content.replaceAll("'", "''");
  return `INSERT INTO pages VALUES (${id}, '${text}', '${audience}', ${year}, '${vectorText(content)}');`;
}

/** The table as a pipeline's configuration names it. */
export const pagesTable = {
  table: "pages",
  text_column: "content",
  vector_column: "embedding",
  id_column: "id",
} as const;

function vectorText(text: string): string {
  return `[${topicVector(text)}]`;
}
