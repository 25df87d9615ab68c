import type { ReadDefinitions } from "./read_definitions.ts";

/** A definition's statement, for whoever tries it before anybody calls it. */
export interface DefinitionStatement {
  /** As in "tool orders_of_customer". */
  readonly of: string;
  readonly sql: string;
  /** How many values it takes: `$1` and on. */
  readonly parameters: number;
}

/**
 * The statements that run on a database. One that names none runs on its caller's current one, which is certain only where
 * there is no other.
 */
export function statementsOn(
  database: string,
  isOnly: boolean,
  { tools, resources, questions }: Pick<ReadDefinitions, "tools" | "resources" | "questions">,
): DefinitionStatement[] {
  const runsHere = (named: string | undefined) => named === database || named === undefined && isOnly;
  return [
    ...tools.filter((tool) => runsHere(tool.database))
      .map(({ name, sql, input }) => ({ of: `tool ${name}`, sql, parameters: input.names.length })),
    ...resources.flatMap((resource) =>
      resource.type === "sql" && runsHere(resource.database)
        ? [{ of: `resource ${resource.uri}`, sql: resource.sql, parameters: 0 }]
        : []
    ),
    ...questions.filter((question) => runsHere(question.database))
      .map(({ name, sql, arguments: { length } }) => ({
        of: `question ${JSON.stringify(name)}`,
        sql,
        parameters: length,
      })),
  ];
}
