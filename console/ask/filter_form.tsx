import { useState } from "preact/hooks";
import { Button, Field } from "../parts.tsx";
import { operators } from "./filter_conditions.ts";

/** The fields that narrow a question, for the form around them. */
export function FilterFields() {
  const [keys, setKeys] = useState<readonly number[]>([]);
  return (
    <div class="stack narrowing">
      <fieldset>
        <legend>Only documents where</legend>
        {keys.map((key, at) => (
          <ConditionFields
            key={key}
            place={at + 1}
            onRemove={() => setKeys(keys.filter((each) => each !== key))}
          />
        ))}
        <div class="row">
          <Button onClick={() => setKeys([...keys, (keys.at(-1) ?? 0) + 1])}>
            Add a condition
          </Button>
          {keys.length > 1 && (
            <select name="logic" aria-label="Which conditions must hold">
              <option value="AND">all of them hold (AND)</option>
              <option value="OR">one of them holds (OR)</option>
            </select>
          )}
        </div>
        <p class="hint">
          Columns that the pipeline's <code>filter_columns</code> allow, or paths into JSON such as{" "}
          <code>meta-&gt;&gt;kind</code>.
        </p>
      </fieldset>
      <div class="row">
        <Field label="Number of passages">
          <input name="top_n" type="number" min={1} max={100} />
        </Field>
        <label class="row">
          <input type="checkbox" name="by_meaning" /> By meaning alone
        </label>
      </div>
    </div>
  );
}

function ConditionFields({ place, onRemove }: Readonly<{ place: number; onRemove: () => void }>) {
  const [operator, setOperator] = useState("=");
  return (
    <div class="condition" role="group" aria-label={`Condition ${place}`}>
      <input name="column" aria-label="Column" placeholder="column" />
      <select
        name="operator"
        aria-label="Operator"
        onChange={({ currentTarget }) => setOperator(currentTarget.value)}
      >
        {operators.map((each) => <option key={each}>{each}</option>)}
      </select>
      <input
        name="value"
        aria-label="Value"
        placeholder={operator.endsWith("IN") ? 'one, two, "a, b"' : "value"}
        hidden={operator.endsWith("NULL")}
      />
      <Button aria-label={`Remove ${place}`} onClick={onRemove}>
        <span aria-hidden="true">✕</span>
      </Button>
    </div>
  );
}
