import { createLatestByText } from "../../core/latest_by_text.ts";
import { AppError } from "../../core/app_error.ts";
import { readerFor } from "../../core/principal.ts";
import type { Database } from "../../postgres/database.ts";
import { type CallerOptions, callerSettings } from "../../postgres/read/caller_settings.ts";
import type { SearchCaller } from "../filter/check_filter.ts";
import type { Retriever } from "../search/retriever.ts";
import {
  faultsText,
  isolationFaults,
  type LookedAtRoles,
  roleOfCaller,
  rolesOf,
} from "./isolation_faults.ts";

/** What a pipeline throws that could show a caller rows of another; its message is for operators. */
export class RowSecurityError extends AppError {
  constructor(what: string, faults: string) {
    super("upstream", `Cannot ${what}: row-level security does not hold there: ${faults}`);
  }
}

interface RowSecurityProofOptions {
  readonly pipeline: string;
  readonly database: Database;
  /** What tells the database who asks. */
  readonly settings: CallerOptions;
  /** As they are configured. */
  readonly tables: readonly string[];
  /** Milliseconds since any fixed moment. */
  readonly now: () => number;
}

/** How long a caller's role that was looked at counts as proven; some thousand are remembered. */
const maxAgeMs = 60_000;
const rolesBytes = 262_144;

/** While the catalog cannot be read, the last proof counts for so long. */
const longestUnreadMs = 120_000;

/** Proves of a pipeline whose callers read rows of their own that PostgreSQL's policies hold all of them. */
export function createRowSecurityProof(
  { pipeline, database, settings, tables, now }: RowSecurityProofOptions,
) {
  const provenRoles = createLatestByText<number>({ maxBytes: rolesBytes });
  let isBroken = false;
  let provenAt = -Infinity;

  async function look(roles: LookedAtRoles, what: string, signal: AbortSignal): Promise<void> {
    const faults = await isolationFaults(database, tables, roles, signal);
    if (faults.length > 0) throw new RowSecurityError(what, faultsText(faults));
  }

  /** Roles of a caller's own name are not known before the caller comes; who has no name reads as the login. */
  async function proveCaller({ caller, signal }: SearchCaller): Promise<void> {
    const { role = "" } = callerSettings(settings, readerFor(caller));
    const provenAt = provenRoles.get(role);
    if (provenAt !== undefined && now() - provenAt < maxAgeMs) return;
    provenRoles.delete(role);
    const askedAt = now();
    await look(
      role === "" ? { ...rolesOf(settings), readsAsLogin: true } : roleOfCaller(role, settings),
      `read from pipeline "${pipeline}" as ${role === "" ? "its login" : JSON.stringify(role)}`,
      signal,
    );
    provenRoles.set(role, askedAt, 8);
  }

  async function prove(signal: AbortSignal): Promise<void> {
    const askedAt = now();
    try {
      await look(rolesOf(settings), `serve pipeline "${pipeline}"`, signal);
      isBroken = false;
      provenAt = askedAt;
    } catch (error) {
      if (error instanceof RowSecurityError) isBroken = true;
      throw error;
    }
  }

  async function requireProof(caller: SearchCaller): Promise<void> {
    if (now() - provenAt >= longestUnreadMs) await prove(caller.signal);
    if (settings.roleFromUser) await proveCaller(caller);
  }

  return {
    /** Whether the last look found a fault. */
    isBroken: (): boolean => isBroken,
    /**
     * Of the login role and all that are known.
     * @throws {RowSecurityError} with what to mend
     */
    prove,
    /** The same retriever, which reads nothing where the proof is too old, or the caller's role not proven. */
    guarding(retriever: Retriever): Retriever {
      const { documents } = retriever;
      return {
        documents: {
          ...documents,
          async detailsOf(found, caller) {
            await requireProof(caller);
            return await documents.detailsOf(found, caller);
          },
          async read(key, caller) {
            await requireProof(caller);
            return await documents.read(key, caller);
          },
        },
        async checkFilter(filter, caller) {
          await requireProof(caller);
          await retriever.checkFilter(filter, caller);
        },
        async retrieve(request) {
          await requireProof(request);
          return await retriever.retrieve(request);
        },
      };
    },
  };
}
