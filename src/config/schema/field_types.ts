import { isLoopback, parseAddressBlock, parseListenAddress } from "../../core/address.ts";
import { z } from "zod";
import { mostProcesses } from "../../core/files/file_of_process.ts";
import { parseDuration } from "../../core/text/units.ts";

/**
 * The kinds of leaf that the schema is made of. Each says what it expects in one phrase, which a fault quotes, so that
 * the phrase is the same whether the type, the range or the form is wrong.
 */

/** Marks the fields whose text is a file's path, and the words in them that are not paths. */
export const pathFields: z.core.$ZodRegistry<{ words: readonly string[] }> = z.registry();

/** Marks the lists that mean something when they are empty: others are taken for absent then. */
export const emptyLists: z.core.$ZodRegistry<{ readonly isKept: true }> = z.registry();

export const keptEmpty = <T extends z.ZodType>(schema: T): T => {
  emptyLists.add(schema, { isKept: true });
  return schema;
};

export const text = () => z.string({ error: "expected text" });

/** A path; one in the file is resolved against the file's folder, one from elsewhere against the working folder. */
export const filePath = (...words: string[]) =>
  z.string({ error: "expected a file's path" }).register(pathFields, { words });

export const toggle = () => z.boolean({ error: "expected true or false" });

export const choice = <const T extends readonly [string, ...string[]]>(...values: T) =>
  z.enum(values, { error: `expected one of ${values.join(", ")}` });

export const integer = (min: number, max?: number) => {
  const error = max === undefined
    ? `expected a whole number, at least ${min}`
    : `expected a whole number from ${min} to ${max}`;
  const atLeast = z.int({ error }).min(min, { error });
  return max === undefined ? atLeast : atLeast.max(max, { error });
};

export const number = (min: number, max: number) => {
  const error = `expected a number from ${min} to ${max}`;
  return z.number({ error }).min(min, { error }).max(max, { error });
};

export const fraction = () => number(0, 1);

export const port = () => integer(1, 65535);

/** Duration text; the parsed value is in milliseconds. */
export const duration = () => parsed("a duration such as 30s, 15m, 24h or 30d", parseDuration);

/** Bytes, as a number or as text with a unit; the parsed value is in bytes. */
export const size = () => {
  const error = "expected a size such as 1 MiB, 512 KiB or a number of bytes";
  return converted(error, z.union([z.int().positive(), z.string()], { error }), (value) => {
    const bytes = typeof value === "number" ? value : parseSize(value);
    return bytes !== undefined && bytes > 0 ? bytes : undefined;
  });
};

/** A timeout: duration text, or the whole seconds that the Go programs write; the parsed value is in milliseconds. */
export const timeout = () => {
  const error = "expected a duration such as 30s, or a number of seconds";
  return converted(
    error,
    z.union([z.int().nonnegative(), z.string()], { error }),
    (value) => parseDuration(typeof value === "number" || /^\d+$/.test(value) ? `${value}s` : value),
  );
};

/** How many processes serve; `auto` is one for each processor. */
export const processCount = () => {
  const error = `expected a whole number from 1 to ${mostProcesses}, or auto`;
  return converted(error, z.union([z.int(), z.string()], { error }), (value) => {
    const count = value === "auto" ? Math.min(navigator.hardwareConcurrency, mostProcesses) : Number(value);
    const isCount = /^(?:auto|\d+)$/.test(String(value)) && count >= 1 && count <= mostProcesses;
    return isCount ? count : undefined;
  });
};

/** Where to listen; the parsed value is a `ListenAddress`. */
export const address = () =>
  parsed("an address such as :8080, 127.0.0.1:8080 or [::1]:8080", parseListenAddress);

export const addressBlock = () =>
  checked(
    "an IP address or a CIDR block such as 10.0.0.0/8",
    (value) => parseAddressBlock(value) !== undefined,
  );

/** A web origin: scheme, host and perhaps a port, without a path. */
export const origin = () =>
  checked("an origin such as https://app.example.com", (value) => {
    return /^https?:\/\//.test(value) && URL.canParse(value) && new URL(value).origin === value.toLowerCase();
  });

export const webAddress = () =>
  checked(
    "a URL that starts with http:// or https:// and has no query",
    (value) => /^https?:\/\/[^?#]+$/.test(value) && URL.canParse(value),
  );

/** What clients call: it stands in headers and in JSON as it is written. */
export const resourceUrl = () =>
  checked(
    "a URL that starts with https:// or http:// and has no query, such as https://mcp.example.com/mcp/v1",
    (value) => /^https?:\/\/[^\s"\\<>^`{|}?#@]+$/.test(value) && URL.canParse(value),
  );

/** An issuer's name (RFC 8414, section 2). Without TLS anybody on the way could write its keys. */
export const issuerUrl = () =>
  checked(
    "a URL that starts with https:// (or http://, on loopback alone) and has no query",
    (value) => !value.includes("?") && isSafeAddress(value),
  );

/** An address at which an issuer is asked. */
export const issuerAddress = () =>
  checked("a URL that starts with https:// (or http://, on loopback alone)", isSafeAddress);

/** RFC 6749, section 3.3. */
export const scope = () =>
  checked(
    'a scope: printable ASCII without blanks, " and \\',
    (value) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value),
  );

/** A host's name or address, or the folder of a Unix socket. */
export const host = () =>
  checked("a host's name or address, or a socket's folder", (value) => {
    return value.startsWith("/") || /^[^\s,@/?]+$/.test(value);
  });

/** What a request's Host may say. */
export const hostName = () =>
  checked("a host's name or address, with or without a port", (value) => {
    return /^(?:[\da-f:.]*:[\da-f:.]*:[\da-f:.]*|(?:\[[\da-f:.]+\]|[a-z\d._-]+)(?::\d{1,5})?)$/i.test(value);
  });

/** The name of a folder of documents. A name with `/` at its beginning would be taken for a path. */
export const sourceName = () =>
  checked("a name that is not blank and does not begin with /", (value) => /^(?!\/).*\S/.test(value));

export const list = <T extends z.ZodType>(element: T) => z.array(element, { error: "expected a list" });

/** Those who may use something. What only looks like a group would be a user that nobody is. */
export const callers = () =>
  list(checked(
    "a user's name or group:NAME",
    (value) => /\S/.test(value) && (/^group:\S/.test(value) || !/^\s*groups?\s*:/i.test(value)),
  ));

/** A list that may not be empty. */
export const listOfSome = <T extends z.ZodType>(what: string, element: T) => {
  const error = `expected a list of at least one ${what}`;
  return z.array(element, { error }).min(1, { error });
};

/** HTTP headers: names are tokens (RFC 9110, section 5.6.2), values what a header can carry. */
export const headerMap = () =>
  z.record(
    z.string(),
    checked("one line of Latin-1 text", (value) => /^[\t\x20-\x7e\xa0-\xff]*$/.test(value)),
    { error: "expected a mapping of names to text" },
  ).refine((headers) => Object.keys(headers).every((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name)), {
    error: "expected names of HTTP headers, such as x-team",
  });

/** RFC 9110, section 5.1. */
export const headerName = () =>
  checked("the name of an HTTP header", (value) => /^[\w!#$%&'*+.^`|~-]+$/.test(value));

/** The name of a setting of PostgreSQL's that is an operator's own. */
export const settingNamePattern =
  /^[A-Za-z_\x80-\u{10ffff}][\w$\x80-\u{10ffff}]*(\.[A-Za-z_\x80-\u{10ffff}][\w$\x80-\u{10ffff}]*)+$/u;

export const settingName = () =>
  checked(
    "a setting's name with a dot in it, such as request.jwt.claims",
    (value) => settingNamePattern.test(value),
  );

/** One, two or three names with dots between them; `*` stands for any text. */
export const columnPattern = () =>
  checked(
    "a column such as ssn, customers.ssn or public.customers.ssn",
    (value) => /^[^.\s]+(\.[^.\s]+){0,2}$/.test(value),
  );

/** A vendor's key. */
export const apiKey = () =>
  checked("a key of printable ASCII without blanks", (value) => /^\s*[\x21-\x7e]+\s*$/.test(value));

/** Sampling temperature; vendors differ in the most that they take. */
export const temperature = () => number(0, 2);

export const textMap = () => z.record(z.string(), text(), { error: "expected a mapping of names to text" });

/** A section of the file; a key that it does not know is a fault. */
export const section = <T extends z.core.$ZodShape>(shape: T) =>
  z.strictObject(shape, { error: "expected a mapping" });

function isSafeAddress(value: string): boolean {
  if (!/^https?:\/\/[^\s@#]+$/.test(value) || !URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return protocol === "https:" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}

export function parsed<T>(form: string, parse: (value: string) => T | undefined) {
  const error = `expected ${form}`;
  return converted(error, z.string({ error }), parse);
}

function converted<In, T>(error: string, written: z.ZodType<In>, convert: (value: In) => T | undefined) {
  return written.transform((value, context) => {
    const result = convert(value);
    if (result !== undefined) return result;
    context.addIssue({ code: "custom", message: error });
    return z.NEVER;
  });
}

export function checked(form: string, holds: (value: string) => boolean) {
  const error = `expected ${form}`;
  return z.string({ error }).refine(holds, { error });
}

const unitBytes: Readonly<Record<string, number>> = {
  "": 1,
  B: 1,
  kB: 1_000,
  KB: 1_000,
  MB: 1_000_000,
  GB: 1_000_000_000,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
};

/** Reads `1 MiB`, `512KiB`, `10MB` or a bare number of bytes; undefined where the text is none of these. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,12}) ?([A-Za-z]{0,3})$/.exec(text);
  const unit = match === null ? undefined : unitBytes[match[2] ?? ""];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}

/**
 * The boolean that a text stands for, undefined where it is none. YAML 1.2 reads these words as text; the two Go
 * programs read them as YAML 1.1 does (https://yaml.org/type/bool.html), and variables and flags are text anyway.
 */
export function toggleFromText(text: string): boolean | undefined {
  if (/^(true|yes|y|on|1)$/i.test(text)) return true;
  if (/^(false|no|n|off|0)$/i.test(text)) return false;
  return undefined;
}
