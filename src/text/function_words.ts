const listed =
  "a about above after again against all also am an and any are as at be because been before being below " +
  "between both but by can could did do does doing down during each either else even ever few for from further had has " +
  "have having he her here hers him his how however i if in into is it its just let like may me might more most much " +
  "must my neither no nor not now of off on once only or other our ours out over own per same shall she should since so " +
  "some such than that the their theirs them then there therefore these they this those though through thus to too " +
  "under until up upon us very via was we were what when where whether which while who whom whose why will with within " +
  "without would yet you your yours don isn doesn didn won wasn weren " +
  // Those of other languages that are no English words with a meaning of their own.
  "der das dem den ein eine einer eines einem einen und oder aber ist sind nicht mit von zu zum zur im auf bei fur wie " +
  "auch nach wird werden wenn sich durch uber aus als ich wir sie es " +
  "le la les un une et ou est sont dans sur avec pour pas que qui au aux du ce cette il elle nous vous " +
  "el los las una y o pero es del al con por para no se su como lo";

const known: ReadonlySet<string> = new Set(listed.split(" "));

/** Whether a folded word carries grammar and no topic: articles, pronouns, prepositions and the like; any single letter. */
export function isFunctionWord(word: string): boolean {
  return known.has(word) || /^[a-z]$/.test(word);
}
