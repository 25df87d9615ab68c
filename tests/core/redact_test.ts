import assert from "node:assert/strict";
import type { KeyVendor } from "../../src/llm/provider_kinds.ts";
import { redactText } from "../../src/core/text/redact.ts";

/** How each vendor's keys look; undefined where nothing tells them from other texts. */
const vendorKeys: Readonly<Record<KeyVendor, string | undefined>> = {
  openai: "sk-proj-4fT9xW2mQ8vK7bN1",
  anthropic: "sk-ant-api03-4fT9xW2mQ8vK7bN1",
  gemini: "AIzaSyD4fT9xW2mQ8vK7bN1",
  voyage: "pa-4fT9xW2mQ8vK7bN1zR5c",
  cohere: undefined,
};

Deno.test("each vendor's key is taken out by its looks", () => {
  for (const [vendor, key] of Object.entries(vendorKeys)) {
    if (key !== undefined) assert.equal(redactText(`got ${key} here`), "got [redacted] here", vendor);
  }
});

Deno.test("what is said of a key's file is no key", () => {
  for (
    const text of [
      "Cannot use the key file /home/postern/.anthropic-api-key: expected one line of printable ASCII",
      "Cannot use the key file /run/secrets/api_key: it is empty",
      "Cannot read ./keys/token: permission denied",
    ]
  ) {
    assert.equal(redactText(text), text);
  }
});

Deno.test("what looks like a key is taken out after a file's name too", () => {
  for (
    const [text, expected] of [
      ["/run/openai-api-key: zq7WvK2mXr9TbL4n", "/run/openai-api-key: [redacted]"],
      ["/run/openai-api-key: correcthorsebattery", "/run/openai-api-key: [redacted]"],
      ["/run/openai-api-key: hunter2", "/run/openai-api-key: [redacted]"],
      ["/run/openai-api-key: a,b", "/run/openai-api-key: [redacted],b"],
      ["https://host/?api_key=secretword", "https://host/?api_key=[redacted]"],
      ["https://host/?api_key: word", "https://host/?api_key: [redacted]"],
      ["x/y=1&token: word", "x/y=1&token: [redacted]"],
      ["api-key: word", "api-key: [redacted]"],
      ["cannot read /etc/postern/db-password: hunter", "cannot read /etc/postern/db-password: [redacted]"],
      ["POST https://h/login/password: letmein refused", "POST https://h/login/password: [redacted] refused"],
      ["password: correct horse", "password: [redacted] horse"],
      ["and/or password: word", "and/or password: [redacted]"],
    ] as const
  ) {
    assert.equal(redactText(text), expected);
  }
});

Deno.test("a signed token is taken out, whatever stands before it", () => {
  const token = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJodHRwczovL2kifQ.c2lnbmF0dXJl-_";
  for (const before of ["", "got ", "token_hint ", '{"assertion":"', "https://h/cb#"]) {
    assert.equal(redactText(`${before}${token} end`), `${before}[redacted] end`);
  }
  assert.equal(redactText("eyJ is how they begin"), "eyJ is how they begin");
});
