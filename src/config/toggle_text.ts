/**
 * The boolean that a text stands for, undefined where it is none. YAML 1.2 reads these words as text; the two Go
 * programs read them as YAML 1.1 does (https://yaml.org/type/bool.html), and variables and flags are text anyway.
 */
export function toggleFromText(text: string): boolean | undefined {
  if (/^(true|yes|y|on|1)$/i.test(text)) return true;
  if (/^(false|no|n|off|0)$/i.test(text)) return false;
  return undefined;
}
