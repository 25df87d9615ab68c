import type { Principal } from "../../core/principal.ts";
import { type AccessObject, grantedTo } from "../../identity/access_rules.ts";
import { AppError } from "../../core/app_error.ts";
import type { CallContext } from "../call_context.ts";
import type { ResourceDescription, ResourceSource } from "../resources/resource.ts";
import type { DatabaseDirectory } from "../tools/databases/database_directory.ts";
import { rowsReply } from "../tools/rows_reply.ts";
import { statementErrorText } from "../tools/statement_error_text.ts";
import { dataNotice } from "../tools/tool.ts";
import type { ResourceDefinition } from "./resource_definitions.ts";

interface DefinedResource extends AccessObject {
  readonly definition: ResourceDefinition;
  readonly description: ResourceDescription;
  /** Of one that is the same for everybody. */
  readonly text?: string;
}

/** The resources of a definitions file, which `replace` puts in the place of those before. */
export function createDefinedResources({ directory }: { readonly directory: DatabaseDirectory }) {
  let resources: readonly DefinedResource[] = [];

  function ofPrincipal(principal: Principal): DefinedResource[] {
    const databases = directory.list(principal).map(({ name }) => name);
    return grantedTo(principal, resources).filter(({ definition }) =>
      definition.type === "static" || definition.database === undefined ||
      databases.includes(definition.database)
    );
  }

  const source: ResourceSource = {
    list: (principal) => ofPrincipal(principal).map(({ description }) => description),
    templates: () => [],
    async read(uri, context) {
      const found = ofPrincipal(context.principal).find(({ name }) => name === uri);
      if (found === undefined) return undefined;
      const { definition, description: { mimeType }, text } = found;
      const contents = { uri, ...(mimeType === undefined ? {} : { mimeType }) };
      if (definition.type === "static") return [{ ...contents, text: text ?? "" }];
      return [{ ...contents, text: await rowsText(definition, context) }];
    },
  };

  async function rowsText(
    { sql, database: name, max_rows: maxRows, mimeType }: ResourceDefinition & { readonly type: "sql" },
    { principal, signal, span }: CallContext,
  ): Promise<string> {
    const database = directory.resolve(principal, name);
    const result = await database.read({
      principal,
      sql,
      signal,
      span,
      ...(maxRows === undefined ? {} : { maxRows }),
    });
    if (!result.ok) throw new AppError("upstream", statementErrorText(result.error, sql));
    const { text, data } = rowsReply({ text: sql, database }, { kind: "rows", sql, result });
    if (!isJson(mimeType)) return text;
    return JSON.stringify({ data_notice: dataNotice(["columns", "rows"]), ...data });
  }

  return {
    source,
    /** Says whether the list is another now. */
    replace(definitions: readonly ResourceDefinition[]): boolean {
      const before = resources;
      resources = definitions.map(definedResource);
      const shown = (list: readonly DefinedResource[]) =>
        JSON.stringify(list.map(({ description, available_to_users }) => [description, available_to_users]));
      return shown(before) !== shown(resources);
    },
  };
}

function definedResource(definition: ResourceDefinition): DefinedResource {
  const { uri, name, title, description } = definition;
  const mimeType = mimeTypeOf(definition);
  return {
    kind: "resource",
    name: uri,
    available_to_users: definition.available_to_users,
    definition,
    description: {
      uri,
      name,
      ...(title === undefined ? {} : { title }),
      ...(description === "" ? {} : { description }),
      mimeType,
    },
    ...(definition.type === "static" ? { text: staticText(definition.data, mimeType) } : {}),
  };
}

/** Rows are JSON only where that is asked for: models read them with fewer tokens as a text, between marks. */
function mimeTypeOf({ type, mimeType }: ResourceDefinition): string {
  if (type === "sql") return isJson(mimeType) ? "application/json" : "text/plain";
  return mimeType ?? "application/json";
}

function isJson(mimeType: string | undefined): boolean {
  return /^application\/json\b/.test(mimeType ?? "");
}

function staticText(data: unknown, mimeType: string): string {
  return typeof data === "string" && !isJson(mimeType) ? data : JSON.stringify(data, undefined, 2);
}
