/** A worker that compares passwords; `password_hashing.ts` is its other side. */
import { answerRequests } from "../../core/async/thread.ts";
import { type PasswordRequest, verifyPassword } from "./password_hashing.ts";

answerRequests(() =>
  Promise.resolve(({ password, hash, totalCost }: PasswordRequest) =>
    verifyPassword(password, hash, totalCost)
  )
);
