/** Compares a password for so many seconds and nothing else; prints the comparisons per second. Arguments: seconds, hash. */
import bcrypt from "bcryptjs";

const [seconds = "5", hash = ""] = Deno.args;
bcrypt.compareSync("warm up", hash);
const started = performance.now();
let count = 0;
for (; performance.now() - started < Number(seconds) * 1000; count++) {
  bcrypt.compareSync("another password", hash);
}
Deno.stdout.writeSync(new TextEncoder().encode(`${count * 1000 / (performance.now() - started)}\n`));
