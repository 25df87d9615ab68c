/**
 * The rules of a `robots.txt` for us, or else for everybody (RFC 9309).
 *
 * @returns whether a path, with its query, may be read: the longest rule that fits decides, and of two the one that allows
 */
export function readRobots(text: string): (path: string) => boolean {
  const rules = new Map<string, { readonly pattern: string; readonly allows: boolean }[]>();
  let agents: string[] = [];
  let isHead = false;
  for (const line of text.split(/[\r\n]+/)) {
    const [, field = "", value = ""] = /^\s*(user-agent|allow|disallow)\s*:\s*([^#\s]*)/i.exec(line) ?? [];
    const name = field.toLowerCase();
    if (name === "user-agent") {
      agents = [...isHead ? agents : [], value.toLowerCase()];
      for (const agent of agents) rules.set(agent, rules.get(agent) ?? []);
    } else if (value !== "") {
      for (const agent of agents) rules.get(agent)?.push({ pattern: value, allows: name === "allow" });
    }
    if (name !== "") isHead = name === "user-agent";
  }
  const own = (rules.get("postern") ?? rules.get("*") ?? []).sort((one, other) =>
    other.pattern.length - one.pattern.length || Number(other.allows) - Number(one.allows)
  );
  return (path) => own.find(({ pattern }) => fits(pattern, path))?.allows ?? true;
}

/** `*` stands for any text, `$` at the end for the path's end. A regular expression could take for ever. */
function fits(pattern: string, path: string): boolean {
  const text = `${path}\n`;
  let at = 0;
  for (const [index, part] of pattern.replace(/\$$/, "\n").split("*").entries()) {
    const found = text.indexOf(part, at);
    if (found < 0 || (index === 0 && found > 0)) return false;
    at = found + part.length;
  }
  return true;
}
