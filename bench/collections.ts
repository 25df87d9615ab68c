import { readHandbook } from "../src/demo/demo_handbook.ts";
import { handbookQuestions } from "../tests/demo/handbook_questions.ts";
import type { Cranfield } from "./corpus.ts";

/** Documents, questions, and which documents answer which question how well. */
export interface Collection {
  readonly name: string;
  /** A document's place is its id. */
  readonly documents: readonly string[];
  readonly questions: readonly { readonly text: string; readonly gains: ReadonlyMap<string, number> }[];
}

/** Cranfield, and collections of other kinds of questions, so that nothing is tuned to one of them. */
export async function qualityCollections({ documents, questions, gains }: Cranfield): Promise<Collection[]> {
  const places = new Map(documents.map(({ id }, place) => [id, place]));
  const placed = (judged: ReadonlyMap<number, number> = new Map()) =>
    new Map([...judged].map(([id, gain]) => [String(places.get(id)), gain]));
  const judged = questions.map(({ id, text }) => ({ text, gains: placed(gains.get(id)) }));
  return [
    { name: "Cranfield", documents: documents.map(({ text }) => text), questions: judged },
    {
      name: "Cranfield, titles twice",
      documents: documents.map(({ title, text }) => `${title}\n${text}`),
      questions: judged,
    },
    {
      name: "Cranfield, a title asks for its abstract",
      documents: documents.map(({ title, text }) => text.replace(title, "")),
      questions: documents.flatMap(({ title }, place) => place % 4 === 0 ? [known(title, place)] : []),
    },
    ...await handbookCollections(),
  ];
}

async function handbookCollections(): Promise<Collection[]> {
  const sections = await readHandbook();
  const contents = sections.map(({ content }) => content);
  const placeOf = (page: string, section: string) =>
    sections.findIndex((one) => one.page === page && one.section === section);
  const asked = handbookQuestions.map(({ question, page, section }) =>
    known(question, placeOf(page, section))
  );
  return [
    { name: "handbook, questions", documents: contents, questions: asked },
    {
      name: "handbook, misspelt questions",
      documents: contents,
      questions: asked.map(({ text, gains }, place) => ({ text: misspell(text, place), gains })),
    },
    {
      name: "handbook, a heading asks for its section",
      documents: contents.map((content) => content.slice(content.indexOf("\n\n"))),
      questions: sections.map(({ title, section }, place) => known(`${title} ${section}`, place)),
    },
  ];
}

function known(text: string, place: number) {
  return { text, gains: new Map([[String(place), 1]]) };
}

/** Swaps two letters in every third of the longer words. */
function misspell(text: string, from: number): string {
  return text.split(" ").map((word, place) =>
    word.length > 5 && (place + from) % 3 === 0
      ? `${word.slice(0, -3)}${word.at(-2)}${word.at(-3)}${word.at(-1)}`
      : word
  ).join(" ");
}
