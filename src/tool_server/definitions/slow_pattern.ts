/** Characters of a text that a definition's pattern is tried on, and of all texts of one argument. */
export const matchedCharacters = { ofText: 500, ofArgument: 10_000 } as const;

/** Ranges such as `{2,8}` that are narrower count as a few ways to match, wider ones as any number. */
const narrow = 20;
/** Of narrow ranges, options and alternatives together. */
const mostWays = 1_000;

/** A pattern, or a group of it, while it is read. */
interface Part {
  /** What repeats on its own in it, or not at all; a group is none. */
  readonly atoms: string[];
  readonly start: number;
  hasGroups: boolean;
  hasAlternatives: boolean;
  /** Whether the same text may fit it in several ways. */
  varies: boolean;
}

const beginning = /^\((?:\?(?:[:=!]|<[=!]|<[^>]*>|[a-z-]*:))?/;
const escape = /^\\(?:[pPku]\{[^}]*\}|k<[^>]*>|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|c[A-Za-z]|\d+|[^])/u;
const characterClass = /^\[(?:\\[^]|[^\]\\])*\]/;
const quantifier = /^(?:[*+?]|\{(\d+)(,?)(\d*)\})\??/;

/**
 * Why the time that a regular expression takes may grow too fast with the text, which a caller chooses: the engine tries every
 * way in which it might fit, and answers nobody meanwhile. Undefined where it stays short for `matchedCharacters`; some that
 * would stay short too are refused.
 *
 * @param pattern one that JavaScript takes
 * @param mostRepeats unbounded repeats in it; one more for a pattern that may begin anywhere
 */
export function whySlow(pattern: string, mostRepeats = 3): string | undefined {
  const whole = newPart(0);
  const open: Part[] = [whole];
  let repeats = pattern.startsWith("^") ? 0 : 1;
  let ways = 1;
  for (let at = 0; at < pattern.length;) {
    const rest = pattern.slice(at);
    const part = open.at(-1) ?? whole;
    const begun = beginning.exec(rest)?.[0];
    if (begun !== undefined) {
      at += begun.length;
      part.hasGroups = true;
      open.push(newPart(at));
      continue;
    }
    if (rest.startsWith("|")) {
      part.hasAlternatives = part.varies = true;
      ways++;
      at++;
      continue;
    }
    const group = rest.startsWith(")") ? open.pop() : undefined;
    const end = at;
    const atom = group === undefined
      ? (escape.exec(rest) ?? characterClass.exec(rest))?.[0] ??
        String.fromCodePoint(rest.codePointAt(0) ?? 0)
      : ")";
    at += atom.length;
    const outer = open.at(-1) ?? whole;
    if (group === undefined) outer.atoms.push(atom);
    else outer.varies ||= group.varies;
    const [written = "", least, comma, most] = quantifier.exec(pattern.slice(at)) ?? [];
    at += written.length;
    if (written === "") continue;
    const isOption = written.startsWith("?");
    const isFixed = least !== undefined && comma === "";
    if (group?.varies && !isOption && !isDivided(group, pattern.slice(group.start, end))) {
      return `repeats a group that may fit the same text in several ways, ${
        JSON.stringify(written)
      } after one with ` +
        "a repeat, an option or alternatives in it";
    }
    if (isFixed) continue;
    outer.varies = true;
    const range = isOption ? 1 : most ? Number(most) - Number(least) : Infinity;
    if (range < narrow) ways *= range + 1;
    else repeats++;
  }
  if (whole.hasAlternatives && pattern.startsWith("^")) repeats++;
  return repeats > mostRepeats || ways > mostWays
    ? `has too many repeats: at most ${mostRepeats} without a bound, one fewer where it does not begin with ^`
    : undefined;
}

function newPart(start: number): Part {
  return { start, atoms: [], hasGroups: false, hasAlternatives: false, varies: false };
}

/** Whether each turn of a group begins with a character that nothing else in it fits, as in `(-[a-z]+)*`. */
function isDivided({ atoms, hasGroups, hasAlternatives }: Part, body: string): boolean {
  const [first = "", ...others] = atoms;
  const divider = /^\\[^\p{L}\p{N}]$/u.test(first) ? first.slice(1) : first;
  if (hasGroups || hasAlternatives || !/^[^\\[.^$]$|^\.$/u.test(divider) || first === ".") return false;
  if (quantifier.test(body.slice(first.length))) return false;
  return others.every((atom) => !fits(atom, divider));
}

function fits(atom: string, character: string): boolean {
  try {
    return new RegExp(`^${atom}$`, "u").test(character);
  } catch {
    return true;
  }
}
