import { openStateNow } from "../../app/open_state.ts";
import type { Config } from "../../config/mod.ts";
import { AppError } from "../../core/app_error.ts";
import {
  type ClientRecord,
  createGrantStore,
  type GrantRecord,
  type GrantStore,
} from "../../identity/authorization_server/grant_store.ts";
import { stateFile } from "../../state/sqlite_engine.ts";
import { counted, jsonText, jsonTime, plainTime, type Print, tableLines, visible } from "../output.ts";

interface ClientSettings {
  readonly config: Pick<Config, "state" | "data_dir" | "pass_file">;
  /** Print JSON in place of text for people. */
  readonly json: boolean;
}

/**
 * Prints the OAuth clients: those that registered, and those that a document describes and that a user let in.
 * @throws {AppError} `invalid` where nothing keeps them, and as openConfiguredState() of `open_state.ts`
 */
export async function listClients(
  settings: ClientSettings,
  print: Print,
): Promise<void> {
  const [clients, grants] = await withStore(
    settings,
    async (store) => await Promise.all([store.clients(), store.grants()]),
  ) ?? [[], []];
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
): Promise<void> {
  const { clientId, json } = settings;
  const ended = await withStore(settings, (store) => store.endClient(clientId));
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
async function withStore<T>(
  { config }: ClientSettings,
  work: (store: GrantStore) => Promise<T>,
): Promise<T | undefined> {
  const { state: { database }, data_dir: dataDir } = config;
  if (database === undefined && dataDir === undefined) {
    throw new AppError(
      "invalid",
      "Cannot read the OAuth clients: neither data_dir nor state.database is set",
    );
  }
  const isThere = dataDir === undefined || await Deno.stat(stateFile(dataDir)).then(() => true, () => false);
  if (database === undefined && !isThere) return undefined;
  await using state = await openStateNow(config);
  return await work(createGrantStore(state));
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
