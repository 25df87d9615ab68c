import { readRegularFile } from "../../core/files/read_regular_file.ts";
import { createStatementGuard } from "../../postgres/guard/statement_guard.ts";
import type { StatementNames } from "../../postgres/guard/statement_names.ts";
import { jsonText, type Print, visible } from "../output.ts";
import { UsageError } from "../parse_flags.ts";

/** What of a name a database alone knows. */
const unknownOf: Readonly<Partial<Record<StatementNames[number]["kind"], string>>> = {
  relation: "whether it is a view, what that calls, and whether the role may read it",
  function: "whether it is VOLATILE",
  operator: "whether the function behind it is VOLATILE",
  type: "whether a cast to it calls a VOLATILE function",
};

/**
 * Prints what the grammar and the guard's lists say of a statement, without a database.
 *
 * @param source a statement, `@` and a file that holds it, or `-` for standard input
 * @throws {UsageError} where the file cannot be read
 * @returns the exit code: 0 if it may run in every database, 1 if in none, 3 if a database decides
 */
export async function checkStatement(
  source: string,
  { json }: { readonly json: boolean },
  print: Print,
): Promise<number> {
  const { check } = await createStatementGuard();
  const result = check(await read(source));
  if (!result.ok) {
    const { rule, reason, position } = result;
    if (json) print(jsonText({ result: "refused", rule, reason, position }));
    else print(`refused (${rule}): ${visible(reason)}${position ? `, at character ${position}` : ""}`);
    return 1;
  }
  const decides = result.names.flatMap(({ kind, schema, name }) => {
    const unknown = unknownOf[kind];
    return unknown === undefined ? [] : [{ kind, ...(schema && { schema }), name, unknown }];
  });
  // of other names, such as columns, it is their types
  const isCertain = result.names.length === 0;
  if (json) print(jsonText({ result: isCertain ? "may_run" : "database_decides", names: decides }));
  else print(isCertain ? "may run" : "may run, unless its database says otherwise:");
  if (!json && !isCertain) {
    print("  columns and constants: whether their types call VOLATILE functions");
    for (const { kind, schema, name, unknown } of decides) {
      print(`  ${kind} ${visible(schema === undefined ? name : `${schema}.${name}`)}: ${unknown}`);
    }
  }
  return isCertain ? 0 : 3;
}

async function read(source: string): Promise<string> {
  if (source === "-") return await new Response(Deno.stdin.readable).text();
  if (!source.startsWith("@")) return source;
  return await readRegularFile(source.slice(1)).catch((cause) => {
    throw new UsageError(
      `-check-statement cannot read ${source.slice(1)}: ${cause instanceof Error ? cause.message : cause}`,
    );
  });
}
