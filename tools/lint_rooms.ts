const belowApp = [
  "core",
  "text",
  "audit",
  "state",
  "http",
  "config",
  "postgres",
  "llm",
  "identity",
  "calls",
  "rag_server",
  "tool_server",
  "console",
  "demo",
];

/**
 * A lint plugin that holds the imports between the rooms of `src/` to the table below: a file may import from its
 * own room and from those listed for it; files of `config/` also leaf files of any room. `docs/architecture.md`
 * explains the rooms.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  text: ["core"],
  audit: ["core"],
  state: ["core", "postgres"],
  http: ["core"],
  config: ["core"],
  postgres: ["core", "text"],
  llm: ["core", "text"],
  identity: ["core", "text", "postgres", "http", "audit", "state"],
  calls: ["core", "audit", "state"],
  rag_server: ["core", "text", "postgres", "llm", "identity", "calls", "http"],
  tool_server: ["core", "text", "postgres", "llm", "identity", "calls", "http", "state", "rag_server"],
  console: ["core", "http", "identity", "calls"],
  demo: ["core", "text", "config", "postgres", "llm"],
  app: belowApp,
  cli: [...belowApp, "app"],
};

/** Files of constants that settings are checked against: they stand where they are decided, and import nothing. */
const leafFile = /_(?:kinds|limits)\.ts$/;

function roomOf(path: string): string | undefined {
  return path.match(/(?:^|\/)src\/([a-z_]+)\/[^/]/)?.[1];
}

/** The path of an imported file, from its specifier and the path of the file that imports it. */
export function resolve(fromFile: string, specifier: string): string {
  const segments = fromFile.split("/").slice(0, -1);
  for (const part of specifier.split("/")) {
    if (part === "..") segments.pop();
    else if (part !== ".") segments.push(part);
  }
  return segments.join("/");
}

/** The fault of one import, or undefined where the table allows it. */
export function roomFault(fromFile: string, specifier: string): string | undefined {
  const from = roomOf(fromFile.replaceAll("\\", "/"));
  if (from === undefined) return undefined;
  if (leafFile.test(fromFile)) return `A file of kinds or limits imports nothing, not even "${specifier}"`;
  if (!specifier.startsWith(".")) return undefined;
  const allowed = mayImport[from];
  if (allowed === undefined) return `Room "${from}" is not in the table of tools/lint_rooms.ts`;
  const to = roomOf(resolve(fromFile.replaceAll("\\", "/"), specifier));
  if (to === undefined) return `Room "${from}" imports "${specifier}" from outside src/`;
  if (
    from === "tool_server" && to === "rag_server" && !/\/mod\.ts$/.test(specifier) &&
    !leafFile.test(specifier)
  ) {
    return 'Room "tool_server" may import from "rag_server" its mod.ts alone';
  }
  if (to === from || allowed.includes(to)) return undefined;
  if (from === "config" && leafFile.test(specifier)) return undefined;
  return `Room "${from}" may not import from "${to}" (allowed: ${allowed.join(", ") || "nothing"})`;
}

/** A lint visitor that hands over what a file imports in any form: statements, re-exports, `import()`, types. */
export function visitImports(
  visit: (specifier: string, node: Deno.lint.Node) => void,
): Deno.lint.LintVisitor {
  const visitSource = (source: Deno.lint.Node | null) => {
    if (source?.type === "Literal" && typeof source.value === "string") visit(source.value, source);
  };
  return {
    ImportDeclaration: ({ source }) => visitSource(source),
    ExportNamedDeclaration: ({ source }) => visitSource(source),
    ExportAllDeclaration: ({ source }) => visitSource(source),
    ImportExpression: ({ source }) => visitSource(source),
    TSImportType: ({ argument }) =>
      visitSource(argument.type === "TSLiteralType" ? argument.literal : argument),
  };
}

const plugin: Deno.lint.Plugin = {
  name: "postern",
  rules: {
    rooms: {
      create: (context) =>
        visitImports((specifier, node) => {
          const message = roomFault(context.filename, specifier);
          if (message !== undefined) context.report({ node, message });
        }),
    },
    "environment-only-in-config": {
      create(context) {
        const room = roomOf(context.filename.replaceAll("\\", "/"));
        if (room === undefined || room === "config") return {};
        return {
          'MemberExpression[object.name="Deno"][property.name="env"]'(node) {
            context.report({ node, message: "Only src/config/ reads the environment" });
          },
        };
      },
    },
  },
};
export default plugin;
