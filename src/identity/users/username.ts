/** The longest username: as long as an e-mail address may be. */
const longestUsername = 254;

/** Why a text cannot be a username; undefined where it can. */
export function usernameFault(username: string): string | undefined {
  if (username === "") return "it is empty";
  if (username.length > longestUsername) {
    return `it has ${username.length} characters, and at most ${longestUsername} are allowed`;
  }
  // two names that look the same, or one that hides part of a line, would mislead whoever reads a list
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(username)) return "it holds a control character";
  if (/\p{Cf}/u.test(username)) return "it holds an invisible character or a mark of writing direction";
  if (!username.isWellFormed()) return "it is not well-formed Unicode";
  if (username !== username.trim()) return "it begins or ends with a space";
  return username === "__proto__" ? "the name is reserved" : undefined;
}
