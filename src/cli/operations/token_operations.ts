import { defined } from "../../core/defined.ts";
import { AppError } from "../../core/app_error.ts";
import type { TokenLimits } from "../../core/principal.ts";
import { limitsText, parseLimits } from "../../identity/tokens/limited_tokens.ts";
import * as tokens from "../../identity/tokens/token_file.ts";
import {
  fieldLines,
  jsonText,
  jsonTime,
  nowOf,
  type OperationOutput,
  plainTime,
  tableLines,
  visible,
  warnOfAccess,
} from "../output.ts";

interface TokenFileSettings {
  readonly tokenFile: string;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
}

interface AddTokenSettings extends TokenFileSettings {
  readonly note?: string;
  readonly database?: string;
  /** `30d`, `never` and the like. Optional: without it, never. */
  readonly expiry?: string;
  /** As flags have them. Optional: none. */
  readonly limits?: Parameters<typeof parseLimits>[0];
  /** The names that there are, by their kind. Of a kind that is absent they are not known. */
  readonly known: TokenLimits;
}

/**
 * Makes a token, adds it to the token file and prints it, this one time.
 *
 * @throws AppError `invalid` for an expiry that cannot be read, `not_found` for a name that there is not, and as addToken() of `src/identity/tokens/token_file.ts`
 */
export async function addToken(settings: AddTokenSettings, output: OperationOutput): Promise<void> {
  const { print } = output;
  const { tokenFile: path, note, database, json } = settings;
  const expiry = tokens.parseExpiry(settings.expiry);
  const read = parseLimits(defined({ ...settings.limits, database }));
  checkNames({ ...(database !== undefined && { databases: [database] }), ...read.limits }, settings, output);
  const { record, token } = await tokens.addToken({
    path,
    ...read,
    ...defined({ note, database }),
    expiry,
    now: nowOf(output),
  });
  await warnOfAccess(path, output);
  if (json) {
    const { id, annotation, database, limits } = record;
    return print(
      jsonText({ id, token, annotation, database, ...limits, expires_at: jsonTime(record.expiresAt) }),
    );
  }
  const lines = fieldLines([
    ["Token", token],
    ["Id", record.id],
    ["Note", record.annotation ?? "-"],
    [
      "Database",
      record.database ?? record.limits?.databases?.join(", ") ??
        (record.limits?.pipelines ? "none" : "every database that is open to all users"),
    ],
    ...(record.limits ? [["Only", limitsText(record.limits)] as const] : []),
    ["Expires", record.expiresAt === null ? "never" : plainTime(record.expiresAt)],
  ]);
  print(`Added a token to ${path}`);
  print("");
  lines.forEach((line) => print(`  ${line}`));
  print("");
  print("The token is shown only this once: keep it somewhere safe now.");
}

/**
 * Prints the tokens of a token file, in the file's order.
 *
 * @throws AppError as listTokens() of `src/identity/tokens/token_file.ts`
 */
export async function listTokens(settings: TokenFileSettings, output: OperationOutput): Promise<void> {
  const { print } = output;
  const { tokenFile: path, json } = settings;
  const { tokens: listed, faults } = await tokens.listTokens({ path, now: nowOf(output) });
  await warnOfAccess(path, output);
  for (const fault of faults) output.warn?.(visible(fault.message));
  if (json) return print(jsonText(listed.map(listedJson)));
  if (listed.length === 0) return print(`no tokens in ${path}`);
  const rows = listed.map((token) => [
    token.id,
    token.annotation ?? "-",
    token.database ?? "-",
    limitsText(token.limits),
    token.createdAt === null ? "-" : plainTime(token.createdAt),
    token.expiresAt === null ? "never" : plainTime(token.expiresAt),
    token.status,
    hashPrefix(token),
  ]);
  const headers = ["id", "note", "database", "only", "created", "expires", "status", "hash"];
  for (const line of tableLines(headers, rows)) print(line);
}

/**
 * Removes a token by its id or by at least 8 digits of its hash.
 *
 * @throws AppError as removeToken() of `src/identity/tokens/token_file.ts`
 */
export async function removeToken(
  settings: TokenFileSettings & { readonly idOrPrefix: string },
  { print }: OperationOutput,
): Promise<void> {
  const { tokenFile: path, idOrPrefix, json } = settings;
  const { id } = await tokens.removeToken({ path, idOrPrefix });
  print(json ? jsonText({ id }) : `Removed ${visible(id)} from ${path}`);
}

function listedJson(token: tokens.ListedToken) {
  const { id, annotation, database, limits, status } = token;
  return {
    id,
    annotation,
    database,
    ...limits,
    created_at: jsonTime(token.createdAt),
    expires_at: jsonTime(token.expiresAt),
    status,
    hash_prefix: hashPrefix(token),
  };
}

/** @throws {AppError} `not_found` */
function checkNames(
  limits: TokenLimits,
  { known }: Pick<AddTokenSettings, "known">,
  { warn }: OperationOutput,
): void {
  for (const kind of ["tools", "databases", "pipelines"] as const) {
    const names = known[kind];
    for (const name of limits[kind]?.filter((each) => names?.includes(each) !== true) ?? []) {
      const what = `to ${kind} ${JSON.stringify(name)}`;
      if (names === undefined) {
        warn?.(`the token is limited ${what}; which there are could not be read`);
        continue;
      }
      const expected = names.length === 0 ? "the configuration has none" : `expected ${names.join(", ")}`;
      throw new AppError("not_found", `Cannot limit a token ${what}: ${expected}`);
    }
  }
}

function hashPrefix(token: tokens.ListedToken): string {
  return token.hash.slice(0, 8);
}
