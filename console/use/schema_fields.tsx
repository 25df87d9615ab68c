import { Field } from "../parts.tsx";
import { isJson, readValue, type Schema, typeOf } from "./schema_values.ts";

/** One control for each property, for the form around them. */
export function SchemaFields({ schema: { properties = {}, required = [] } }: { readonly schema: Schema }) {
  const described = Object.entries(properties);
  if (described.length === 0) return <p class="faint">It takes no arguments.</p>;
  return (
    <div class="fields">
      {described.map(([name, schema]) => {
        const isNeeded = required.includes(name);
        const usual = schema.default !== undefined && `Without it: ${JSON.stringify(schema.default)}.`;
        const hints = [schema.description, typeOf(schema) === "json" && "As JSON.", usual].filter(Boolean);
        return (
          <Field
            key={name}
            label={isNeeded ? `${name} (needed)` : name}
            hint={hints.join(" ") || undefined}
          >
            {control(schema, { name, required: isNeeded })}
          </Field>
        );
      })}
    </div>
  );
}

function control(schema: Schema, shared: { readonly name: string; readonly required: boolean }) {
  const type = typeOf(schema);
  const choices = type === "boolean" ? ["true", "false"] : schema.enum?.map(String);
  if (choices) {
    return (
      <select {...shared}>
        {["", ...choices].map((choice) => <option key={choice}>{choice}</option>)}
      </select>
    );
  }
  const isLong = /query|text|question|where|sql|description/i.test(shared.name);
  if (type === "json" || type === "string" && isLong) {
    const check = (area: HTMLTextAreaElement) =>
      area.setCustomValidity(type === "json" && !isJson(area.value) ? "This is not JSON." : "");
    return (
      <textarea
        {...shared}
        class="mono"
        spellcheck={false}
        onInput={(event) => check(event.currentTarget)}
      />
    );
  }
  if (type === "string") return <input {...shared} autocomplete="off" />;
  const { minimum: min, maximum: max } = schema;
  return <input {...shared} type="number" step={type === "integer" ? 1 : "any"} min={min} max={max} />;
}

/** The arguments that are filled in, of their types. */
export function readArguments(form: HTMLFormElement, { properties = {} }: Schema) {
  const texts = new FormData(form);
  const values = Object.entries(properties).map(([name, schema]) =>
    [name, readValue(String(texts.get(name) ?? ""), schema)] as const
  );
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}
