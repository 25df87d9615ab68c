/**
 * The values that are there. The compiler tells an optional property from one that holds undefined (`exactOptionalPropertyTypes`),
 * since the second takes the place of a default where options are spread over it.
 */
export function defined<Values extends object>(
  values: Values,
): { [Name in keyof Values]?: Exclude<Values[Name], undefined> } {
  const there: Partial<Values> = {};
  for (const name in values) if (values[name] !== undefined) there[name] = values[name];
  return there as { [Name in keyof Values]?: Exclude<Values[Name], undefined> };
}
