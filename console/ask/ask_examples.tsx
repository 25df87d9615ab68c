import { useLoaded } from "../load.ts";
import { Empty, Failure, Loading, Shown } from "../parts.tsx";
import type { Schema } from "./schema.ts";
import { sqlTable } from "./sql_names.ts";

/** Something to begin with, from what the database has. */
export function AskExamples({ schema, onChoose }: {
  readonly schema: Schema;
  readonly onChoose: (text: string) => void;
}) {
  const { state, again } = useLoaded(() => schema.tables(), [schema]);
  if (state.kind === "loading") return <Loading of="tables" />;
  if (state.kind === "failed") {
    return <Failure error={state.error} again={again} />;
  }
  const [biggest, second = biggest] = state.value.toSorted((a, b) => b.estimated_rows - a.estimated_rows);
  if (biggest === undefined || second === undefined) {
    return <Empty title="This database has no tables that you may read." />;
  }
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
}
