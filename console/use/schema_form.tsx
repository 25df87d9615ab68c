import { useEffect, useState } from "preact/hooks";
import { Field } from "../parts.tsx";
import { isJson, readValue, type Schema, typeOf } from "./schema_values.ts";

/** One control for each property; `onChange` gets the arguments that are filled in, of their types. */
export function SchemaForm({ schema, onChange }: {
  readonly schema: Schema;
  readonly onChange: (args: Readonly<Record<string, unknown>>) => void;
}) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const properties = Object.entries(schema.properties ?? {});
  useEffect(() => {
    const args: Record<string, unknown> = {};
    for (const [name, property] of properties) {
      const value = readValue(texts[name] ?? "", property);
      if (value !== undefined) args[name] = value;
    }
    onChange(args);
  }, [texts]);
  if (properties.length === 0) return <p class="faint">It takes no arguments.</p>;
  return (
    <div class="fields">
      {properties.map(([name, property]) => (
        <Control
          key={name}
          name={name}
          schema={property}
          isRequired={schema.required?.includes(name) ?? false}
          text={texts[name] ?? ""}
          onInput={(text) => setTexts((before) => ({ ...before, [name]: text }))}
        />
      ))}
    </div>
  );
}

function Control({ name, schema, isRequired, text, onInput }: {
  readonly name: string;
  readonly schema: Schema;
  readonly isRequired: boolean;
  readonly text: string;
  readonly onInput: (text: string) => void;
}) {
  const type = typeOf(schema);
  const usual = schema.default === undefined ? "" : `Without it: ${JSON.stringify(schema.default)}.`;
  const hint = [schema.description, type === "json" ? "As JSON." : "", usual].filter(Boolean).join(" ") ||
    undefined;
  const choices = type === "boolean" ? ["true", "false"] : schema.enum?.map(String) ?? [];
  const isText = type === "string" && /query|text|question|where|sql|description/i.test(name);
  return (
    <Field label={isRequired ? `${name} (needed)` : name} hint={hint}>
      {(id, hintId) => {
        const shared = {
          id,
          name,
          "aria-describedby": hintId,
          required: isRequired,
          value: text,
          onInput: ({ currentTarget }: { currentTarget: { value: string } }) => onInput(currentTarget.value),
        };
        if (choices.length > 0) {
          return (
            <select {...shared}>
              <option value=""></option>
              {choices.map((choice) => <option key={choice} value={choice}>{choice}</option>)}
            </select>
          );
        }
        if (type === "json" || isText) {
          return (
            <textarea
              {...shared}
              class="mono"
              spellcheck={false}
              ref={(area) =>
                area?.setCustomValidity(type === "json" && !isJson(text) ? "This is not JSON." : "")}
            />
          );
        }
        if (type === "string") return <input {...shared} autocomplete="off" />;
        return (
          <input
            {...shared}
            type="number"
            step={type === "integer" ? 1 : "any"}
            min={schema.minimum}
            max={schema.maximum}
          />
        );
      }}
    </Field>
  );
}
