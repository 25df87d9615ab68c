import { isScalar, parseDocument, visit } from "yaml";
import { valueAt } from "../../core/yaml/value_tree.ts";
import { frontMatter } from "./metadata_kinds.ts";

/** By a column's name, what fills it: a regular expression over a file's path, or `front_matter.KEY`. */
export type MetadataRules = Readonly<Record<string, string>>;

/**
 * What a file has for the columns: the first group of an expression, a value of its front matter, or null. A number that
 * JSON would write another way is a text, as `1.10` and `0012`; PostgreSQL makes numbers of such texts.
 *
 * @param path below its source's folder, with `/`
 * @param matter YAML. Optional: none where the file has none
 * @throws {Error} where a rule needs front matter that is not YAML
 */
export function metadataOf(
  rules: MetadataRules,
  { path, matter }: { readonly path: string; readonly matter: string | undefined },
): Record<string, unknown> {
  let read: unknown;
  const valueOf = (rule: string): unknown => {
    if (!rule.startsWith(frontMatter)) return new RegExp(rule, "u").exec(path)?.[1];
    read ??= parsed(matter);
    return valueAt(read, rule.slice(frontMatter.length).split("."));
  };
  return Object.fromEntries(Object.entries(rules).map(([column, rule]) => [column, valueOf(rule) ?? null]));
}

function parsed(matter = ""): unknown {
  const document = parseDocument(matter, { logLevel: "error", prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) throw new Error(`its front matter is not YAML: ${error.message}`);
  visit(document, (_key, node) => {
    if (isScalar(node) && Number.isFinite(node.value) && String(node.value) !== node.source) {
      node.value = node.source;
    }
  });
  return document.toJS() ?? {};
}
