import { randomBytes } from "node:crypto";
import type { Logger } from "../../core/logger.ts";
import { sql } from "../../state/engine.ts";
import { currentVersion, type State } from "../../state/state.ts";

/** How long a key signs, and how long after that what it signed is still accepted. */
const signsForMs = 90 * 24 * 3_600_000;
const keptMs = signsForMs + 7 * 24 * 3_600_000;
const kind = "oauth key";
/** How often it is looked whether a new one is needed; soon again where none could be made. */
const lookEveryMs = 3_600_000;
const lookAgainMs = 1_000;

/** What the authorization server signs cookies with; tokens are looked up and not signed. */
export type CookieKeys = Awaited<ReturnType<typeof keepCookieKeys>>;

/** Keeps the keys in the state, where all servers that use it have the same, and another one where the newest is 90 days old. */
export async function keepCookieKeys(
  { state, logger }: { readonly state: State; readonly logger: Logger },
) {
  const known = new Map<number, { readonly secret: string; readonly madeAt: number }>();
  state.of(kind).follow((id, record) => {
    if (record === undefined) known.delete(Number(id));
    else if (typeof record.value === "string") {
      known.set(Number(id), { secret: record.value, madeAt: record.expiresAt - keptMs });
    }
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  // until the state has been reached, nothing is signed that is given out
  const provisional = [newSecret()];

  /** The newest first. */
  function accepted() {
    const time = state.now();
    return [...known].filter(([, { madeAt }]) => time - madeAt < keptMs).toSorted(([one], [other]) =>
      other - one
    );
  }
  async function makeIfDue(): Promise<void> {
    await state.catchUp();
    const [newest] = accepted();
    const time = state.now();
    if (newest !== undefined && time - newest[1].madeAt < signsForMs) return;
    const id = String(Math.max(0, ...known.keys()) + 1);
    // of several that make it at once, the first does
    await state.change([
      sql`INSERT INTO records (kind, id, value, created_at, expires_at, version)
        VALUES (${kind}, ${id}, ${JSON.stringify(newSecret())}, ${time}, ${time + keptMs}, ${currentVersion})
        ON CONFLICT (kind, id) DO NOTHING`,
    ], { isTold: true });
    await state.catchUp();
  }
  async function renew(): Promise<void> {
    let nextMs = lookEveryMs;
    try {
      await makeIfDue();
    } catch (error) {
      if (known.size > 0) {
        logger.warn("Cannot renew the keys of the login page's cookies; trying again later", { error });
      } else nextMs = lookAgainMs;
    }
    clearTimeout(timer);
    timer = setTimeout(renew, nextMs);
    Deno.unrefTimer(timer);
  }
  await renew();
  return {
    /** Those of the moment, the newest first, which signs: each Base64url of 32 random bytes. */
    get secrets(): readonly string[] {
      const secrets = accepted().map(([, { secret }]) => secret);
      return secrets.length === 0 ? provisional : secrets;
    },
    /** Makes a new one where it is time. It also happens by itself, and never throws. */
    renew,
    [Symbol.dispose]: () => clearTimeout(timer),
  };
}

const newSecret = () => randomBytes(32).toString("base64url");
