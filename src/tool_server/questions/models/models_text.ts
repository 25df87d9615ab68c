import type { VisibleModel } from "./semantic_models.ts";

/** A model as a model of language reads it; with `only`, its measures and dimensions of these names alone. */
export function modelText(model: VisibleModel, only?: ReadonlySet<string>): string {
  const { measures, dimensions, joins } = model;
  const line = (kind: string, { name, synonyms, description, sql }: VisibleModel["measures"][number]) =>
    `  ${kind} ${titleOf(name, synonyms)} = ${oneLine(sql)}${noteOf(description)}`;
  const isShown = ({ name }: { readonly name: string }) => only === undefined || only.has(name);
  return [
    modelLine(model),
    ...measures.filter(isShown).map((each) => line("measure", each)),
    ...dimensions.filter(isShown).map((each) => line("dimension", each)),
    ...joins.map(({ to, on, description }) => `  join ${to}: ${oneLine(on)}${noteOf(description)}`),
  ].join("\n");
}

/** What a model is called and what it is of. */
export function modelLine({ name, synonyms, description, table }: VisibleModel): string {
  return `${titleOf(name, synonyms)}: rows of ${table.schema}.${table.name}${noteOf(description)}`;
}

function titleOf(name: string, synonyms: readonly string[]): string {
  return synonyms.length === 0 ? name : `${name} (also ${synonyms.join(", ")})`;
}

function noteOf(description: string): string {
  return description === "" ? "" : ` -- ${oneLine(description)}`;
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
