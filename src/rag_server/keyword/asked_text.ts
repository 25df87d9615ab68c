/**
 * What an apostrophe joins to the end of a word, as in "Anna's", "I'd" and "we've". PostgreSQL's parser makes a word
 * of it.
 */
const suffixes = /(?<=\p{L})['’](?:\p{L}|ll|re|ve)(?![\p{L}\p{N}])/giu;

/**
 * "e.g." and "i.e.", which no list of stop words has, and the like in alphabets other than the Latin one, of which
 * PostgreSQL's parser makes a word for each letter: "т.е.", "π.χ.".
 */
const abbreviations =
  /(?<![\p{L}\p{N}])(?:[eE]\.[gG]|[iI]\.[eE]|(?![a-z])\p{Ll}(?:\.\p{Ll})+)(?![\p{L}\p{N}])/gu;

/**
 * A question without what PostgreSQL's parser takes for words though it tells nothing: being rare in documents, it would
 * weigh more than the words that do.
 */
export function askedText(question: string): string {
  return question.replace(suffixes, "").replace(abbreviations, "");
}
