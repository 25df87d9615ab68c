import { join } from "node:path";
import type { KeyVendor } from "../llm/provider_kinds.ts";

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
  /** `OLLAMA_HOST`, as a URL. */
  readonly ollama_url?: string;
}

const variables: Readonly<Record<KeyVendor, readonly string[]>> = {
  anthropic: ["ANTHROPIC_API_KEY"],
  openai: ["OPENAI_API_KEY"],
  gemini: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  voyage: ["VOYAGE_API_KEY"],
  cohere: ["COHERE_API_KEY", "CO_API_KEY"],
};

export function vendorsFrom(env: Readonly<Record<string, string | undefined>>): Vendors {
  const home = env["HOME"];
  const key = (vendor: KeyVendor): VendorKey => {
    const text = variables[vendor].map((variable) => env[variable]?.trim()).find(Boolean);
    return {
      ...(text === undefined ? {} : { api_key: text }),
      ...(home ? { api_key_file: join(home, `.${vendor}-api-key`) } : {}),
    };
  };
  const ollama = env["OLLAMA_HOST"]?.trim();
  return {
    keys: {
      anthropic: key("anthropic"),
      openai: key("openai"),
      gemini: key("gemini"),
      voyage: key("voyage"),
      cohere: key("cohere"),
    },
    ...(ollama ? { ollama_url: ollamaUrl(ollama) } : {}),
  };
}

/** Ollama takes a bare host, with or without a port, and the address that it listens on everywhere. */
function ollamaUrl(text: string): string {
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  const withPort = /:\d+$/.test(url) || url.startsWith("https://") ? url : `${url}:11434`;
  return withPort.replace("//0.0.0.0:", "//127.0.0.1:");
}
