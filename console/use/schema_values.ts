/** The part of JSON Schema that tools describe their arguments with. */
export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string | undefined;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** `json` for what is no plain value. */
export function typeOf({ type, enum: values }: Schema): string {
  if (values !== undefined) return "enum";
  const [first] = [type ?? "json"].flat().filter((each) => each !== "null");
  return first === "object" || first === "array" || first === undefined ? "json" : first;
}

export function isJson(text: string): boolean {
  try {
    return text.trim() === "" || JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

/** What a control's text stands for; undefined where it is left empty or cannot be read yet. */
export function readValue(text: string, schema: Schema): unknown {
  if (text.trim() === "") return undefined;
  const type = typeOf(schema);
  if (type === "string") return text;
  if (type === "enum") return schema.enum?.find((value) => String(value) === text);
  if (type === "integer" || type === "number") return Number(text);
  return isJson(text) ? JSON.parse(text) : undefined;
}
