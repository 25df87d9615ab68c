// Ends with what started it, also where that was killed and could tell nobody.
const parent = Deno.ppid;
Deno.unrefTimer(setInterval(() => Deno.ppid === parent || Deno.exit(143), 1000));
await import("./main.js");
