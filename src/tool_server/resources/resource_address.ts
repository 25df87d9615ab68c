import type { ResourceLink } from "../call_context.ts";

/** What an address of the scheme `pg` leads to. */
export type ResourceAddress =
  | { readonly kind: "system_info" | "databases" }
  | { readonly kind: "schema"; readonly database: string }
  | { readonly kind: "table"; readonly database: string; readonly schema: string; readonly table: string };

/** As RFC 6570 expands the templates below: every character but the unreserved ones of RFC 3986 is percent-encoded. */
export function formatAddress(address: ResourceAddress): string {
  switch (address.kind) {
    case "schema":
      return `pg://${encode(address.database)}/schema`;
    case "table":
      return `pg://${[address.database, address.schema, address.table].map(encode).join("/")}`;
    default:
      return `pg://${address.kind}`;
  }
}

export const addressTemplates = {
  schema: "pg://{database}/schema",
  table: "pg://{database}/{schema}/{table}",
} as const;

/** Three names of 128 characters, each of which is 12 characters when encoded, with room to spare. */
const maxLength = 5_000;

/** Undefined where the text is no such address. Characters that need not be encoded may be. */
export function parseAddress(uri: string): ResourceAddress | undefined {
  const path = uri.length > maxLength ? undefined : /^pg:\/\/([^?#]+)$/i.exec(uri)?.[1];
  // one part more tells that there are too many
  const names = path?.split("/", 4).map(decode) ?? [];
  const [database, schema, table] = names;
  // PostgreSQL has no empty names, and none with a NUL
  if (database === undefined || names.some((name) => !name || name.includes("\0"))) return undefined;
  if (names.length === 1) {
    return database === "system_info" || database === "databases" ? { kind: database } : undefined;
  }
  if (names.length === 2) return schema === "schema" ? { kind: "schema", database } : undefined;
  if (names.length > 3 || schema === undefined || table === undefined) return undefined;
  return { kind: "table", database, schema, table };
}

function encode(name: string): string {
  return encodeURIComponent(name.toWellFormed())
    .replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

function decode(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** The link to a table's resource, for a result that tells of it. */
export function linkToTable(database: string, schema: string, table: string): ResourceLink {
  return linkTo(formatAddress({ kind: "table", database, schema, table }), `${schema}.${table}`);
}

/** The link to the resource of a database's schema. */
export function linkToSchema(database: string): ResourceLink {
  return linkTo(formatAddress({ kind: "schema", database }), `Schema of ${database}`);
}

function linkTo(uri: string, name: string): ResourceLink {
  return { type: "resource_link", uri, name, mimeType: "application/json" };
}
