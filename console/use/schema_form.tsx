import { useEffect, useState } from "preact/hooks";
import { Field } from "../parts.tsx";
import { isJson, readValue, type Schema, typeOf } from "./schema_values.ts";

/** One control for each property; `onChange` gets the arguments that are filled in, of their types. */
export function SchemaForm({ schema: { properties: described = {}, required = [] }, onChange }: {
  readonly schema: Schema;
  readonly onChange: (args: Readonly<Record<string, unknown>>) => void;
}) {
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const properties = Object.entries(described);
  useEffect(() => {
    const values = properties.map(([name, schema]) => [name, readValue(texts[name] ?? "", schema)]);
    onChange(Object.fromEntries(values.filter(([, value]) => value !== undefined)));
  }, [texts]);
  if (properties.length === 0) return <p class="faint">It takes no arguments.</p>;
  return (
    <div class="fields">
      {properties.map(([name, schema]) => {
        const isJsonText = typeOf(schema) === "json";
        const usual = schema.default !== undefined && `Without it: ${JSON.stringify(schema.default)}.`;
        const hints = [schema.description, isJsonText && "As JSON.", usual].filter(Boolean);
        return (
          <Field
            key={name}
            label={required.includes(name) ? `${name} (needed)` : name}
            hint={hints.join(" ") || undefined}
          >
            {control(name, schema, {
              name,
              required: required.includes(name),
              value: texts[name] ?? "",
              onInput: ({ currentTarget: { value } }) => setTexts((before) => ({ ...before, [name]: value })),
            })}
          </Field>
        );
      })}
    </div>
  );
}

interface Shared {
  readonly name: string;
  readonly required: boolean;
  readonly value: string;
  readonly onInput: (event: { readonly currentTarget: { readonly value: string } }) => void;
}

function control(name: string, schema: Schema, shared: Shared) {
  const type = typeOf(schema);
  const choices = type === "boolean" ? ["true", "false"] : schema.enum?.map(String);
  if (choices) {
    return (
      <select {...shared}>
        {["", ...choices].map((choice) => <option key={choice}>{choice}</option>)}
      </select>
    );
  }
  if (type === "json" || type === "string" && /query|text|question|where|sql|description/i.test(name)) {
    const fault = type === "json" && !isJson(shared.value) ? "This is not JSON." : "";
    return (
      <textarea
        {...shared}
        class="mono"
        spellcheck={false}
        ref={(area) => area?.setCustomValidity(fault)}
      />
    );
  }
  if (type === "string") return <input {...shared} autocomplete="off" />;
  const { minimum: min, maximum: max } = schema;
  return <input {...shared} type="number" step={type === "integer" ? 1 : "any"} min={min} max={max} />;
}
