/** Words that say nothing about a table, wherever they stand. */
const functionWords = new Set(
  `a about after again against ago all also am an and any anyone anything are as ask at be because been before being
   both but by can could did do does doing done during each else ever every everyone few for from get gets getting
   give given gives go goes gone got had has have having he hello help her here hers hey hi him his how i if in
   into is it its just kindly know let lets like make many may me might mine more most much must my need no nor not
   now of off ok on once one ones only onto or other our ours out over own per please same see seen she should
   show shows so some someone something still such tell than thank thanks that the their them then there these they
   thing things this those through to too toward under until up upon us use used using very want wants was we were
   what when where whether which while who whom whose why will with within without would yes yet you your yours
   across among around between besides broken down based compared currently display exactly fetch find
   two three four five six seven eight nine ten according simply really actually
   grouped respectively retrieve return sorted ordered versus via vs
   der die das und oder wie viele was ist sind den dem ein eine einen fur mit von zu im je pro zeige alle
   le la les un une des et ou que qui combien de du dans par pour avec el los las una y o cuantos cual con por para`
    .split(/\s+/),
);

/** Words that say how to compute or when; they may be part of a name too, and then count a little. */
const operationWords = new Set(
  `count number total sum average mean median maximum minimum max min avg top bottom first last latest recent recently
   newest oldest highest lowest most least best worst largest biggest smallest greatest longest shortest fewest
   distinct different unique percentage percent ratio share rank ranking list group sort order compare comparison
   date time day daily week weekly month monthly quarter quarterly year yearly annual hour hourly today yesterday
   tomorrow current previous next past since until ago between above below greater less fewer equal
   table tables row rows column columns record records entry entries field fields data database schema value values
   name names type id ids`.split(/\s+/),
);

const partOfOperations = 0.35;

/** How much a request's word says about which tables it means: 0, a little, or 1. */
export function wordWeight(word: string): number {
  if (functionWords.has(word) || (word.length < 3 && [...word].length < 2)) return 0;
  return operationWords.has(word) || /^\p{N}/u.test(word) ? partOfOperations : 1;
}
