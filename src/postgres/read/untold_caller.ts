import { AppError } from "../../core/app_error.ts";

/** Who asks cannot be told to a database that reads as its callers, so that nothing is read. */
export class UntoldCallerError extends AppError {
  /**
   * @param what of the caller does not do: a claim, or the role that is to be taken
   * @param reason begins with what is wrong; holds the names of claims, and none of their values
   */
  constructor(
    database: string,
    readonly what: "claim" | "role",
    readonly reason: string,
  ) {
    super("forbidden", `Cannot read from database ${JSON.stringify(database)}: ${reason}`);
  }
}
