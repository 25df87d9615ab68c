/**
 * The constants of Okapi BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond",
 * 2009) and its parts as SQL. A word's weight in a document is its `impact`, from 0 to 1, times its inverse
 * document frequency.
 */

/** How fast repeats of a word stop counting: the value of the usual range, 1.2 to 2, that is best on Cranfield. */
const k1 = 2;
/** How much a long text is held against its words. */
const b = 0.75;

/** A word's impact in a text: SQL over the count of the word, the text's length and the average length, in words. */
export function impactSql(count: string, length: string, averageLength: string): string {
  return `${count} / (${count} + ${k1} * (${1 - b} + ${b} * ${length} / ${averageLength}::float8))`;
}

/** The weight of a word: SQL over the number of documents and the number of those with the word. */
export function inverseFrequencySql(documents: string, frequency: string): string {
  // statistics may be older than a document that has the word
  return `ln(1 + (greatest(${documents} - ${frequency}, 0) + 0.5) / (${frequency} + 0.5))`;
}
