import { type CheckResult, error, note, warning } from "../rag_server/checks/check.ts";

const soonMs = 30 * 86_400_000;

/**
 * What there is to say of a certificate's end.
 *
 * @param what begins a sentence
 */
export function expiryResults(what: string, expiresAt: number, now: number): CheckResult[] {
  const day = new Date(expiresAt).toISOString().slice(0, 10);
  const remedy = "-- Renew it, and have the file replaced: Postern reads it again";
  if (expiresAt < now) return [error(`${what} expired on ${day}`, remedy)];
  return expiresAt - now < soonMs
    ? [warning(`${what} expires on ${day}`, remedy)]
    : [note(`${what} is valid until ${day}`)];
}
