/** A schema of OpenAPI 3.0.3, as far as our descriptions use it. */
export interface ApiSchema {
  readonly $ref?: string;
  readonly type?: "object" | "array" | "string" | "number" | "integer" | "boolean";
  readonly nullable?: boolean;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, ApiSchema>>;
  readonly additionalProperties?: ApiSchema;
  readonly required?: readonly string[];
  readonly items?: ApiSchema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly oneOf?: readonly ApiSchema[];
  readonly not?: ApiSchema;
}

export interface SchemaRules {
  readonly components: Readonly<Record<string, ApiSchema>>;
  /** Whether members that a schema does not name are faults. */
  readonly isClosed: boolean;
}

/** Where and how a value does not fit a schema (OpenAPI 3.0.3, Schema Object; JSON Schema Validation). */
export function schemaFaults(schema: ApiSchema, value: unknown, rules: SchemaRules, place = "$"): string[] {
  if (schema.$ref !== undefined) return schemaFaults(resolveRef(schema.$ref, rules), value, rules, place);
  if (value === null && schema.nullable === true) return [];
  const { oneOf, not, ...rest } = schema;
  const isExcluded = not !== undefined && schemaFaults(not, value, rules, place).length === 0;
  if (isExcluded) return [`${place}: fits what it must not`];
  // a part names only some of the members
  const inPart = { ...rules, isClosed: rules.isClosed && rest.properties === undefined };
  const faults = oneOf === undefined ? [] : oneOfFaults(oneOf, value, inPart, place);
  return [...faults, ...ownFaults(rest, value, rules, place)];
}

function ownFaults(schema: ApiSchema, value: unknown, rules: SchemaRules, place: string): string[] {
  if (schema.type !== undefined && !hasType(schema.type, value)) return [`${place}: expected ${schema.type}`];
  if (schema.enum !== undefined && !schema.enum.includes(value)) {
    return [`${place}: ${JSON.stringify(value)} is not in the enumeration`];
  }
  if (Array.isArray(value)) return arrayFaults(schema, value, rules, place);
  if (typeof value === "object" && value !== null) return objectFaults(schema, value, rules, place);
  if (typeof value === "string") return stringFaults(schema, value, place);
  return typeof value === "number" ? numberFaults(schema, value, place) : [];
}

function resolveRef(ref: string, { components }: SchemaRules): ApiSchema {
  const schema = components[ref.replace("#/components/schemas/", "")];
  if (schema === undefined) throw new Error(`No schema ${ref}`);
  return schema;
}

function hasType(type: NonNullable<ApiSchema["type"]>, value: unknown): boolean {
  const itsType: string = typeof value;
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return itsType === type;
  }
}

function oneOfFaults(
  schemas: readonly ApiSchema[],
  value: unknown,
  rules: SchemaRules,
  place: string,
): string[] {
  const fitting = schemas.filter((schema) => schemaFaults(schema, value, rules, place).length === 0);
  return fitting.length === 1 ? [] : [`${place}: ${JSON.stringify(value)} fits ${fitting.length} of oneOf`];
}

function arrayFaults(schema: ApiSchema, value: unknown[], rules: SchemaRules, place: string): string[] {
  const { minItems = 0, maxItems = Infinity, items } = schema;
  return [
    ...(value.length < minItems || value.length > maxItems ? [`${place}: ${value.length} items`] : []),
    ...(items === undefined
      ? []
      : value.flatMap((item, i) => schemaFaults(items, item, rules, `${place}[${i}]`))),
  ];
}

function objectFaults(schema: ApiSchema, value: object, rules: SchemaRules, place: string): string[] {
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name));
  return [
    ...missing.map((name) => `${place}.${name}: missing`),
    ...Object.entries(value).flatMap(([name, member]) => {
      const memberSchema = schema.properties?.[name] ?? schema.additionalProperties;
      if (memberSchema !== undefined) return schemaFaults(memberSchema, member, rules, `${place}.${name}`);
      return rules.isClosed && schema.type === "object" ? [`${place}.${name}: not described`] : [];
    }),
  ];
}

function stringFaults(
  { minLength = 0, maxLength = Infinity, pattern = "" }: ApiSchema,
  value: string,
  place: string,
) {
  const length = [...value].length;
  const fits = length >= minLength && length <= maxLength && new RegExp(pattern, "u").test(value);
  return fits ? [] : [`${place}: a text of ${length} characters that does not fit`];
}

function numberFaults({ minimum = -Infinity, maximum = Infinity }: ApiSchema, value: number, place: string) {
  return value >= minimum && value <= maximum ? [] : [`${place}: ${value} is out of bounds`];
}
