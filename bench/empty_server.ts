/** The least that a server can do, in a process of its own as the one that it is compared with. */
Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => void Deno.stdout.writeSync(new TextEncoder().encode(`http://127.0.0.1:${port}/\n`)),
}, () => new Response("ok"));
