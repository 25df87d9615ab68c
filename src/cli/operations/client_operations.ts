import { AppError } from "../../core/app_error.ts";
import { silentLogger } from "../../core/logger.ts";
import {
  type ClientRecord,
  grantFile,
  type GrantRecord,
  type GrantStore,
  openGrantStore,
} from "../../identity/authorization_server/grant_store.ts";
import {
  counted,
  jsonText,
  jsonTime,
  nowOf,
  type OperationOptions,
  plainTime,
  type Print,
  tableLines,
  visible,
} from "../output.ts";

interface ClientSettings {
  /** The folder of the authorization server's files; undefined where the configuration names none. */
  readonly dataDir: string | undefined;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
}

/**
 * Prints the OAuth clients: those that registered, and those that a document describes and that a user let in.
 * @throws {AppError} `invalid` without data_dir, and as openGrantStore() of `grant_store.ts`
 */
export async function listClients(
  settings: ClientSettings,
  print: Print,
  options: OperationOptions = {},
): Promise<void> {
  using store = await openStore(settings, options);
  const clients = store?.clients() ?? [];
  const grants = store?.grants() ?? [];
  const grantsOf = ({ id }: ClientRecord) => grants.filter(({ clientId }) => clientId === id);
  if (settings.json) return print(jsonText(clients.map((client) => clientJson(client, grantsOf(client)))));
  if (clients.length === 0) return print("no clients");
  const rows = clients.map((client) => {
    const own = grantsOf(client);
    return [
      client.id,
      client.name ?? "-",
      client.registeredAt === null ? "-" : plainTime(client.registeredAt),
      lastUse(own) === null ? "never" : plainTime(lastUse(own) ?? 0),
      [...new Set(own.map(({ username }) => username))].join(", ") || "-",
    ];
  });
  for (const line of tableLines(["client", "name", "registered", "last used", "users"], rows)) print(line);
}

/**
 * Removes a client and ends its grants: a running server refuses their tokens at once.
 * @throws {AppError} `not_found` for an unknown client, and as listClients
 */
export async function revokeClient(
  settings: ClientSettings & { readonly clientId: string },
  print: Print,
  options: OperationOptions = {},
): Promise<void> {
  const { clientId, json } = settings;
  using store = await openStore(settings, options);
  const ended = store?.endClient(clientId);
  if (ended === undefined) {
    throw new AppError(
      "not_found",
      `Cannot revoke client ${JSON.stringify(clientId)}: there is no such client`,
    );
  }
  print(
    json
      ? jsonText({ client_id: clientId, grants: ended })
      : `Revoked ${visible(clientId)}; ${counted(ended, "grant")} ended`,
  );
}

/** Undefined where no server has made the file yet. */
async function openStore(
  { dataDir }: ClientSettings,
  options: OperationOptions,
): Promise<GrantStore | undefined> {
  if (dataDir === undefined) {
    throw new AppError("invalid", "Cannot read the OAuth clients: data_dir is not set");
  }
  const path = grantFile(dataDir);
  const isThere = await Deno.stat(path).then(() => true, () => false);
  if (!isThere) return undefined;
  return openGrantStore({ path, now: () => nowOf(options), logger: silentLogger });
}

function lastUse(grants: readonly GrantRecord[]): number | null {
  const times = grants.flatMap(({ usedAt }) => usedAt ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

function clientJson(client: ClientRecord, grants: readonly GrantRecord[]) {
  return {
    client_id: client.id,
    client_name: client.name,
    redirect_uris: client.redirectUris,
    registered_at: jsonTime(client.registeredAt),
    last_used: jsonTime(lastUse(grants)),
    grants: grants.map(({ id, username, createdAt, usedAt, expiresAt }) => ({
      id,
      username,
      created_at: jsonTime(createdAt),
      last_used: jsonTime(usedAt),
      expires_at: jsonTime(expiresAt),
    })),
  };
}
