import { Buffer } from "node:buffer";
import { createServer, type Socket } from "node:net";

/** A PostgreSQL server as far as a login goes: it asks for a password, and takes those in `accepted`. */
export async function startPasswordServer() {
  const accepted = new Set<string>();
  const given: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => {});
    let isStarted = false;
    socket.on("data", (data: Buffer) => {
      if (!isStarted) {
        isStarted = true;
        return void socket.write(message("R", Buffer.from([0, 0, 0, 3])));
      }
      if (data[0] !== "p".charCodeAt(0)) return void socket.end();
      const password = data.subarray(5, data.length - 1).toString();
      given.push(password);
      if (accepted.has(password)) {
        socket.write(Buffer.concat([
          message("R", Buffer.alloc(4)),
          message("S", Buffer.from("server_version\0" + "18.0\0")),
          message("K", Buffer.alloc(8)),
          message("Z", Buffer.from("I")),
        ]));
      } else {
        const fields = "SFATAL\0VFATAL\0C28P01\0Mpassword authentication failed\0\0";
        socket.end(message("E", Buffer.from(fields)));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return {
    port: typeof address === "object" ? address?.port ?? 0 : 0,
    accepted,
    /** Passwords that came, in their order. */
    given,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function message(type: string, body: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(body.length + 4);
  return Buffer.concat([Buffer.from(type), length, body]);
}
