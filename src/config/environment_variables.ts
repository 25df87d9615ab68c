import { defined } from "../core/defined.ts";
import { join } from "node:path";
import { z } from "zod";
import { AppError } from "../core/app_error.ts";
import type { KeyVendor } from "../llm/provider_kinds.ts";
import type { SettingPath } from "../core/yaml/value_tree.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export const variablePrefix = "POSTERN_";
/** Names the configuration file. */
export const configVariable = "POSTERN_CONFIG";

/**
 * The variable of a setting, as `POSTERN_LOG_LEVEL` of `log.level`: `http.auth` and `http.tls` go without their `http`,
 * those of the first database are `POSTERN_DB_…`. Undefined where no variable gives the setting.
 */
export function variableOf(path: SettingPath): string | undefined {
  const [first, second, third] = path;
  if (first === "databases") {
    if (third === "name") return undefined;
    return `${variablePrefix}DB_${third === "database" ? "NAME" : String(third).toUpperCase()}`;
  }
  if (path.some((part) => typeof part === "number")) return undefined;
  const named = first === "http" && (second === "auth" || second === "tls") ? path.slice(1) : path;
  return variablePrefix + named.join("_").toUpperCase();
}

/** libpq's variables: what a database leaves out, its own settings and `POSTERN_DB_*` having been asked first. */
export const libpqVariables: Readonly<Record<string, string>> = {
  PGHOST: "host",
  PGPORT: "port",
  PGDATABASE: "database",
  PGUSER: "user",
  PGPASSWORD: "password",
  PGSSLMODE: "sslmode",
  PGSSLCERT: "sslcert",
  PGSSLKEY: "sslkey",
  PGSSLROOTCERT: "sslrootcert",
  PGTARGETSESSIONATTRS: "target_session_attrs",
};

/** OpenTelemetry's variables: what `traces` leaves out. Of two for one setting, the first that is set counts. */
export const openTelemetryVariables = {
  endpoint: ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"],
  headers: ["OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"],
  ca_file: ["OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE", "OTEL_EXPORTER_OTLP_CERTIFICATE"],
  service_name: ["OTEL_SERVICE_NAME"],
} as const;

/** Whether OpenTelemetry's variables ask for no traces, of whatever program. */
export function refusesTraces(env: Environment): boolean {
  return env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
}

/** `a=1,b=2` with percent-encoded values, as OpenTelemetry's variables have headers (W3C Baggage, section 3.2). */
export function headersFromText(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.trim()).filter((pair) => pair !== "");
  return Object.fromEntries(pairs.map((pair) => {
    const at = pair.indexOf("=");
    const [name, value] = at === -1 ? [pair, ""] : [pair.slice(0, at), pair.slice(at + 1)];
    return [name.trim(), decoded(value.trim())];
  }));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The file of passwords that libpq reads; undefined where no home folder is known. */
export function passFileFrom(env: Environment): string | undefined {
  const home = env["HOME"];
  return env["PGPASSFILE"] || (home && join(home, ".pgpass")) || undefined;
}

/** The socket on which systemd waits to hear that the servers are ready; undefined where it does not. */
export function notifySocketFrom(env: Environment): string | undefined {
  return env["NOTIFY_SOCKET"] || undefined;
}

const ownProcess = z.object({
  /** From 1. */
  number: z.int().min(1),
  /** How many there are. */
  of: z.int().min(2),
  /** Where all of them listen: the parent has chosen where 0 was asked for. */
  ports: z.object({ http: z.int(), server: z.int() }),
});

/** Which of several processes that serve one port a process is. */
export type OwnProcess = z.output<typeof ownProcess>;

/** By it a parent tells each process which one it is, in JSON; nobody else sets it. */
export const childVariable = "POSTERN_STARTED_BY_PARENT";

/**
 * Undefined in a process that no other of this program has started.
 * @throws {AppError} `invalid` where somebody else has set the variable
 */
export function ownProcessFrom(env: Environment): OwnProcess | undefined {
  const text = env[childVariable];
  if (!text) return undefined;
  try {
    return ownProcess.parse(JSON.parse(text));
  } catch (cause) {
    const reason = "the server alone sets it, for processes that it starts; unset it";
    throw new AppError("invalid", `Cannot use the variable ${childVariable}: ${reason}`, { cause });
  }
}

/** Where a vendor's key is looked for, once the configuration itself has none. */
export interface VendorKey {
  /** From the vendor's own environment variable. */
  readonly api_key?: string;
  /** A file in the home folder, which need not be there. */
  readonly api_key_file?: string;
}

/** What the environment says about the vendors, under the names that their own programs know. */
export interface Vendors {
  readonly keys: Readonly<Record<KeyVendor, VendorKey>>;
  /** Of Amazon's programs. Optional: none where there is no key. */
  readonly aws?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  /** `OLLAMA_HOST`, as a URL. */
  readonly ollama_url?: string;
}

const vendorVariables: Readonly<Record<KeyVendor, readonly string[]>> = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  voyage: ["VOYAGE_API_KEY"],
  cohere: ["COHERE_API_KEY", "CO_API_KEY"],
};

/** What the environment says about vendors. */
export function vendorsFrom(env: Environment): Vendors {
  const home = env["HOME"];
  const key = (vendor: KeyVendor): VendorKey => {
    const text = vendorVariables[vendor].map((variable) => env[variable]?.trim()).find(Boolean);
    return {
      ...defined({ api_key: text }),
      ...(home ? { api_key_file: join(home, `.${vendor}-api-key`) } : {}),
    };
  };
  const ollama = env["OLLAMA_HOST"]?.trim();
  const aws = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
  const [accessKeyId, secretAccessKey, sessionToken] = aws.map((name) => env[name]?.trim() || undefined);
  return {
    keys: {
      anthropic: key("anthropic"),
      openai: key("openai"),
      gemini: key("gemini"),
      voyage: key("voyage"),
      cohere: key("cohere"),
    },
    ...(accessKeyId && secretAccessKey
      ? { aws: { accessKeyId, secretAccessKey, ...defined({ sessionToken }) } }
      : {}),
    ...(ollama ? { ollama_url: ollamaUrl(ollama) } : {}),
  };
}

/** Ollama takes a bare host, with or without a port, and the address that it listens on everywhere. */
function ollamaUrl(text: string): string {
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  const withPort = /:\d+$/.test(url) || url.startsWith("https://") ? url : `${url}:11434`;
  return withPort.replace("//0.0.0.0:", "//127.0.0.1:");
}
