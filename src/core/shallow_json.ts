/**
 * Levels of lists and objects. What writes, checks or compares a value goes down by recursion, and from some thousands of
 * levels on it overflows; a plan of PostgreSQL's has two levels for each of its steps.
 */
const maxLevels = 200;

/** The value of a JSON text that somebody else chose; the text itself where it nests deeper than 200 levels. */
export function parseShallowJson(text: string): unknown {
  return nestsDeeply(text) ? text : JSON.parse(text);
}

function nestsDeeply(text: string): boolean {
  let levels = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case quote:
        isInString = !isInString;
        break;
      case backslash:
        at++;
        break;
      case openList:
      case openObject:
        if (!isInString && ++levels > maxLevels) return true;
        break;
      case closeList:
      case closeObject:
        if (!isInString) levels--;
    }
  }
  return false;
}

const quote = 0x22;
const openList = 0x5b;
const backslash = 0x5c;
const closeList = 0x5d;
const openObject = 0x7b;
const closeObject = 0x7d;
