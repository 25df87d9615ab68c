import type { ClientStream } from "./client_stream.ts";
import { readInt32, readTexts, startupCodes } from "./wire_protocol.ts";

export type Startup =
  | { readonly kind: "session"; readonly parameters: ReadonlyMap<string, string> }
  | { readonly kind: "cancel"; readonly processId: number; readonly secret: number }
  | { readonly kind: "unsupported" }
  | { readonly kind: "gone" };

/** Reads what a client opens with; encryption is declined (manual, "Message Flow", "Start-up"). */
export async function readStartup(stream: ClientStream): Promise<Startup> {
  for (;;) {
    const packet = await stream.inbox.readStartup();
    if (packet === undefined) return { kind: "gone" };
    const code = readInt32(packet, 0);
    if (code === startupCodes.ssl || code === startupCodes.gssEncryption) {
      await stream.send(new Uint8Array(["N".charCodeAt(0)]));
    } else if (code === startupCodes.cancel && packet.length >= 12) {
      return { kind: "cancel", processId: readInt32(packet, 4), secret: readInt32(packet, 8) };
    } else if (code >> 16 === startupCodes.protocol3) {
      return { kind: "session", parameters: parametersIn(packet.subarray(4)) };
    } else {
      return { kind: "unsupported" };
    }
  }
}

function parametersIn(body: Uint8Array): Map<string, string> {
  const texts = readTexts(body, 1000);
  const parameters = new Map<string, string>();
  for (let index = 0; index + 1 < texts.length; index += 2) {
    const name = texts[index] ?? "";
    if (name !== "") parameters.set(name, texts[index + 1] ?? "");
  }
  return parameters;
}
