import type { CatalogTable } from "../../postgres/catalog/catalog.ts";
import type { Database } from "../../postgres/database.ts";
import type { Principal } from "../../core/principal.ts";
import { countTokens } from "../../text/token_count.ts";
import {
  type FittingModel,
  fittingModels,
  modelText,
  type SemanticModels,
} from "./models/semantic_models.ts";
import type { VerifiedQuestion, VerifiedQuestions } from "./verified/verified_questions.ts";

/** What an administrator wrote down about the databases. */
export interface Knowledge {
  readonly questions: VerifiedQuestions;
  readonly models: SemanticModels;
}

/** Shares of a prompt's tokens for the schema. */
const shares = { models: 0.2, examples: 0.15 } as const;
const mostExamples = 3;
/** Values of an argument that an example lists. */
const mostValues = 20;

/** Chooses what goes into the prompt for a request, of what its caller may know. */
export function promptKnowledge(
  knowledge: Knowledge | undefined,
  { text, database, principal }: {
    readonly text: string;
    readonly database: Pick<Database, "name" | "rightsKey">;
    readonly principal: Principal;
  },
  { tables, maxTokens }: { readonly tables: readonly CatalogTable[]; readonly maxTokens: number },
) {
  const visible = knowledge?.models.ofCatalog(database, principal, tables) ?? [];
  const fitting = fittingModels(visible, text);
  const models = modelsWithin(fitting, shares.models * maxTokens);
  const near = knowledge?.questions.nearest(text, database.name, principal, mostExamples) ?? [];
  const examples = examplesWithin(near, shares.examples * maxTokens);
  return {
    /** Those that the request names; empty where there are none. */
    models,
    /** The verified questions that are nearest, with their statements; empty where there are none. */
    examples,
    /** Numbers of the tables that the models are of. */
    tables: fitting.map(({ model }) => tables.indexOf(model.table)).filter((table) => table >= 0),
    tokens: countTokens(models) + countTokens(examples),
  };
}

/** The models that a request names, as many as fit: whole, or with what the request names of them alone. */
function modelsWithin(fitting: readonly FittingModel[], maxTokens: number): string {
  const lines: string[] = [];
  let left = maxTokens;
  for (const { model, named } of fitting) {
    const forms = [modelText(model), modelText(model, named)];
    const form = forms.find((text) => countTokens(`${text}\n`) <= left);
    if (form === undefined) break;
    left -= countTokens(`${form}\n`);
    lines.push(form);
  }
  return lines.join("\n");
}

function examplesWithin(questions: readonly VerifiedQuestion[], maxTokens: number): string {
  const shown: string[] = [];
  let left = maxTokens;
  for (const question of questions) {
    const text = exampleText(question);
    const tokens = countTokens(`${text}\n\n`);
    if (tokens > left) continue;
    left -= tokens;
    shown.push(text);
  }
  return shown.join("\n\n");
}

function exampleText({ name, description, sql, arguments: its }: VerifiedQuestion): string {
  const values = its.map(({ name, description, values = [] }, at) => {
    const listed = values.slice(0, mostValues).map(({ value }) => JSON.stringify(value)).join(", ");
    const more = values.length > mostValues ? ", …" : "";
    return `-- $${at + 1}: ${name}${listed === "" ? "" : `, one of ${listed}${more}`}${
      description === "" ? "" : `; ${description.replace(/\s+/g, " ")}`
    }`;
  });
  return [`${name}${description === "" ? "" : ` (${description.replace(/\s+/g, " ")})`}`, ...values, sql]
    .join("\n");
}
