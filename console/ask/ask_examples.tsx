import type { Catalog } from "../catalog.ts";
import { useLoaded } from "../load.ts";
import { Empty, Ready, Shown } from "../parts.tsx";
import { sqlTable } from "../sql_names.ts";

/** Something to begin with, from what the database has. */
export function AskExamples({ catalog, onChoose }: {
  readonly catalog: Catalog;
  readonly onChoose: (text: string) => void;
}) {
  const loaded = useLoaded(() => catalog.read(), [catalog]);
  return (
    <Ready of="tables" loaded={loaded}>
      {({ tables }) => {
        const [biggest, second = biggest] = tables.toSorted((a, b) => b.estimated_rows - a.estimated_rows);
        if (!biggest || !second) return <Empty title="This database has no tables that you may read." />;
        const texts = [
          `SELECT * FROM ${sqlTable(biggest)} LIMIT 50`,
          `SELECT count(*) FROM ${sqlTable(second)}`,
          `How many ${second.name.replaceAll("_", " ")} are there?`,
        ];
        return (
          <section class="stack examples" aria-labelledby="examples-title">
            <h2 id="examples-title">To begin with</h2>
            {texts.map((text) => (
              <button type="button" key={text} class="mono" onClick={() => onChoose(text)}>
                <Shown text={text} />
              </button>
            ))}
          </section>
        );
      }}
    </Ready>
  );
}
