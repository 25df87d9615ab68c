import { ownCommand, shellWord } from "../../core/own_command.ts";

/** What `-init` writes. */
export interface InitialConfig {
  readonly host: string;
  readonly port: string;
  readonly database: string;
  readonly user: string;
  readonly sslmode: string;
  /** Optional: the password itself, or the file that holds it. */
  readonly password?: { readonly text: string } | { readonly file: string };
  /** Where to listen; absent for stdio. */
  readonly http?: string;
}

/** The text of a configuration file with what was chosen, and with comments that say what to do next. */
export function configText({ password, http, ...database }: InitialConfig): string {
  const field = (name: string, value: string, comment = "") =>
    `    ${name}: ${scalar(value)}${comment && ` # ${comment}`}`;
  return [
    "# Postern's configuration. config.example.yaml has every setting; -check-config says what is wrong with a file.",
    "",
    "databases:",
    `  - name: ${scalar(database.database)} # what tools and API tokens call it`,
    field("host", database.host),
    `    port: ${/^\d+$/.test(database.port) ? database.port : scalar(database.port)}`,
    field("database", database.database),
    field(
      "user",
      database.user,
      "a role that may only read: -setup-role prints its SQL, -check-role looks at one",
    ),
    ...(password === undefined
      ? [
        "    # password: none here; POSTERN_DB_PASSWORD, PGPASSWORD or ~/.pgpass give it where one is needed",
      ]
      : "file" in password
      ? [field("password_file", password.file, "read for each connection")]
      : [field("password", password.text)]),
    field(
      "sslmode",
      database.sslmode,
      database.sslmode.startsWith("verify") ? "" : "verify-full checks the server's certificate",
    ),
    "",
    ...(http === undefined
      ? [
        "# Over standard input and output. For applications over HTTP:",
        "# http: { enabled: true, address: 127.0.0.1:8080 }",
      ]
      : [
        "http:",
        "  enabled: true",
        `  address: ${scalar(http)} # for other machines: behind a proxy, or with tls`,
        "  # API tokens stand in tokens.yaml beside this file: -add-token, -list-tokens, -remove-token",
      ]),
    "",
  ].join("\n");
}

/** A text as YAML reads it back: bare where nothing else could be read into it, else in quotes as JSON has them. */
function scalar(text: string): string {
  const isWord = /^(?:true|false|yes|no|on|off|y|n|null)$/i.test(text);
  return !isWord && /^(?:[A-Za-z_/]|\d+\.\d+\.\d)[\w./-]*(?::\d+)?$/.test(text) ? text : JSON.stringify(text);
}

interface Written {
  /** The configuration file. */
  readonly path: string;
  readonly http: string | undefined;
  /** Whether the password comes from this process's environment alone. */
  readonly keepsPassword: boolean;
}

/** What to do with a configuration that was just written: lines to paste where Postern is to be used. */
export function pasteLines({ path, http, keepsPassword }: Written): string[] {
  const [command, ...args] = ownCommand().line;
  const started = [command, ...args, "-config", path];
  if (http !== undefined) {
    const url = `http://${http.replace(/^(?=:)|^0\.0\.0\.0|^\[::\]/, "localhost")}/mcp/v1`;
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "list_databases", arguments: {} },
    };
    return [
      "Start it:",
      "",
      `  ${started.map(shellWord).join(" ")}`,
      "",
      "Ask it, with the token from above:",
      "",
      "  TOKEN=…",
      `  curl -s ${url} -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' \\`,
      `    -d '${JSON.stringify(call)}'`,
      "",
      `MCP clients: the URL ${url}, the header "Authorization: Bearer TOKEN" (docs/clients)`,
    ];
  }
  const server = {
    command,
    args: [...args, "-config", path],
    ...(keepsPassword ? { env: { PGPASSWORD: "…" } } : {}),
  };
  return [
    "For Claude Desktop, put this into its configuration (Settings, Developer, Edit Config), and start it again:",
    "",
    ...JSON.stringify({ mcpServers: { postern: server } }, null, 2).split("\n").map((line) => `  ${line}`),
    "",
    "For Claude Code:",
    "",
    `  claude mcp add postern -- ${started.map(shellWord).join(" ")}`,
  ];
}
