import type { Catalog } from "../catalog.ts";
import { Empty, Examples, Load } from "../parts.tsx";
import { sqlTable } from "../sql_names.ts";

const withoutModel =
  "Ask in SQL, or in the words of a question that an administrator has verified: other words need a model, which llm.provider sets.";

const forModels = /^Cannot answer a request in natural language: no completion provider.*?(?=Questions|$)/s;

/** What the server tells models of words that it cannot answer, for people; other errors as they are. */
export function forPeople(error: Error): Error {
  const message = error.message.replace(forModels, `${withoutModel} `);
  return message === error.message ? error : new Error(message);
}

/** Something to begin with, from what the database has. */
export function AskExamples({ catalog, hasModel, onChoose }: {
  readonly catalog: Catalog;
  readonly hasModel: boolean;
  readonly onChoose: (text: string) => void;
}) {
  return (
    <Load of="tables" read={() => catalog.read()} inputs={[catalog]}>
      {({ tables }) => {
        const [biggest, second = biggest] = tables.toSorted((a, b) => b.estimated_rows - a.estimated_rows);
        if (!biggest || !second) return <Empty title="This database has no tables that you may read." />;
        const texts = [
          `SELECT * FROM ${sqlTable(biggest)} LIMIT 50`,
          `SELECT count(*) FROM ${sqlTable(second)}`,
          ...(hasModel ? [`How many ${second.name.replaceAll("_", " ")} are there?`] : []),
        ];
        return (
          <Examples texts={texts} onChoose={onChoose}>
            {!hasModel && <p class="hint">{withoutModel}</p>}
          </Examples>
        );
      }}
    </Load>
  );
}
