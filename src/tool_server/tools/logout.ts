import { z } from "zod";
import { defineTool, type Tool } from "./tool.ts";

/** Ends the session that calls it. */
export function logout(options: { endSession: (id: string) => void }): Tool {
  return defineTool({
    name: "logout",
    title: "Log out",
    description: "End the session whose token this call carries; its token is refused from now on.",
    hidden: true,
    isFree: true,
    input: z.strictObject({}),
    output: z.object({ success: z.boolean(), message: z.string() }),
    annotations: { readOnlyHint: false, idempotentHint: true },
    run(_args, { principal }) {
      if (principal.kind !== "session") {
        return Promise.resolve({
          errorText:
            "Cannot log out: this is not the session of a user; an API token is removed by an administrator",
        });
      }
      options.endSession(principal.id);
      const data = { success: true, message: "Logged out" };
      return Promise.resolve({ text: JSON.stringify(data), data });
    },
  });
}
