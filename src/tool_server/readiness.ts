import type { Principal } from "../core/principal.ts";
import {
  createReachability,
  databaseFreshMs,
  type Pingable,
  type Readiness,
  type ReadinessOfAll,
} from "../http/reachability.ts";
import {
  type AccessObject,
  grantedTo,
  isGranted,
  resourceOf,
  type ScopesByTool,
} from "../identity/access_rules.ts";

interface Named extends Pingable {
  readonly name: string;
}

export interface ReadinessOptions {
  /** Those that are configured now, in that order. */
  readonly databases: () => readonly (AccessObject & { readonly database: Named })[];
  /** Those that requests in words may go to, the first choice first. */
  readonly providers: readonly Named[];
  /** The issuer whose tokens let callers in. Optional. */
  readonly identityProvider?: Named | undefined;
  /** What servers share, whether it answers and whether it ever has. Optional: none where they share nothing. */
  readonly state?: (Pingable & { readonly hasAnswered: () => boolean }) | undefined;
  /** Optional: none where the process serves alone. */
  readonly readinessOfAll?: ReadinessOfAll | undefined;
  /** Optional: no tool needs any. */
  readonly scopesByTool?: ScopesByTool;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** What `/ready` answers. */
export interface ReadyReply {
  /**
   * `degraded`: something cannot be reached, but not every database; `unavailable`: no configured database can be, or the
   * server still waits for what it shares with others. Of several processes, that of the worst.
   */
  readonly status: Readiness;
  /** In the configuration's order. */
  readonly databases: readonly SubjectState[];
  readonly providers: readonly SubjectState[];
  /** Optional: none where none is configured. While it cannot be reached, its last keys let callers in. */
  readonly identity_provider?: SubjectState;
  /** What the server shares with others. Optional: none where it shares nothing. */
  readonly state?: SubjectState;
}

interface SubjectState {
  /** Absent for callers who may not know it. */
  readonly name?: string;
  /** Absent while the first answer is still to come. */
  readonly reachable?: boolean;
}

const providerFreshMs = 30_000;

/**
 * Makes the function that says which databases and providers can be reached. It asks all at once, and each one once at a
 * time, however many callers ask. Anyone may call it, so it tells names only to a principal who may use what they name, and list it.
 */
export function createReadiness(
  { databases, providers, identityProvider, state, readinessOfAll, scopesByTool, now }: ReadinessOptions,
): (principal: Principal | undefined) => Promise<ReadyReply> {
  const reachability = createReachability(now);

  async function own(principal: Principal | undefined): Promise<ReadyReply> {
    const asked = databases();
    const [ofDatabases, ofProviders, [ofIssuer], [ofState]] = await Promise.all([
      reachability.of(asked.map(({ database }) => database), databaseFreshMs),
      reachability.of(providers, providerFreshMs),
      reachability.of(identityProvider === undefined ? [] : [identityProvider], providerFreshMs),
      reachability.of(state === undefined ? [] : [state], databaseFreshMs),
    ]);
    const isTold = principal && isGranted(principal, resourceOf("databases", scopesByTool));
    const known = new Set(isTold ? grantedTo(principal, asked) : []);
    const reply = {
      databases: asked.map((entry, at) => ({
        ...(known.has(entry) && { name: entry.name }),
        // who has waited in vain has been told nothing better
        reachable: ofDatabases[at] ?? false,
      })),
      providers: providers.map((provider, at) => ({
        ...(principal !== undefined && { name: provider.name }),
        ...stateOf(ofProviders[at]),
      })),
      ...(identityProvider !== undefined && {
        identity_provider: {
          ...(principal !== undefined && { name: identityProvider.name }),
          ...stateOf(ofIssuer),
        },
      }),
      ...(state !== undefined && { state: stateOf(ofState) }),
    };
    return { status: state?.hasAnswered() === false ? "unavailable" : statusOf(reply), ...reply };
  }

  const statusOfAll = readinessOfAll?.(async () => (await own(undefined)).status);
  return async (principal) => ({
    ...await own(principal),
    ...(statusOfAll && { status: await statusOfAll() }),
  });
}

function stateOf(reachable: boolean | undefined): SubjectState {
  return reachable === undefined ? {} : { reachable };
}

function statusOf(
  { databases, providers, identity_provider: issuer = {}, state = {} }: Omit<ReadyReply, "status">,
): ReadyReply["status"] {
  const isDown = ({ reachable }: SubjectState) => reachable === false;
  if (databases.length > 0 && databases.every(isDown)) return "unavailable";
  return [...databases, ...providers, issuer, state].some(isDown) ? "degraded" : "ready";
}
