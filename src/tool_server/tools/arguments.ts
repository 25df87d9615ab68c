import { z } from "zod";

/** The optional argument of every tool that touches a database. */
export const databaseArgument = z.string().min(1).max(128).optional()
  .describe("Name of the database to use, as list_databases shows it. Default: the current one.");
