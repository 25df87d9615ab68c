import assert from "node:assert/strict";
import { createClientAddress } from "../../src/http/client_address.ts";
import { loadConfig } from "../../src/config/mod.ts";
import { optionsFor } from "./load_options.ts";

const refused = [
  "01.2.3.4",
  "1.2.3.4/033",
  "0x7f.0.0.1",
  "127.1",
  "::1%eth0",
  "fe80::%eth0/10",
  " ::1",
  "::\t1",
];
const taken = ["10.0.0.0/8", "10.0.0.0/08", "::1", "::ffff:10.0.0.0/104", "::192.0.2.1", "::/0"];

for (const [text, isTaken] of [...refused, ...taken].map((text) => [text, taken.includes(text)] as const)) {
  const written = JSON.stringify(text);
  Deno.test(`the configuration and the start ${isTaken ? "take" : "refuse"} ${written} as a proxy`, async () => {
    const config = `http: { client_ip: { header: X-Real-IP, trusted_proxies: [${written}] } }\n`;
    const loaded = await loadConfig(optionsFor(config)).then(() => true, ({ faults }) => faults);
    const started = () => createClientAddress({ trustedProxies: [text] });
    if (isTaken) {
      assert.equal(loaded, true);
      return void started();
    }
    assert.deepEqual(loaded.map(({ path }: { path: string }) => path), ["http.client_ip.trusted_proxies[0]"]);
    assert.throws(started, { code: "invalid" });
  });
}
