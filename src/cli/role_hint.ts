import { AppError } from "../core/app_error.ts";

// https://www.postgresql.org/docs/current/errcodes-appendix.html
const insufficientPrivilege = "42501";

/** Whether PostgreSQL refused something for want of rights. */
export function isOfRights(error: unknown): error is AppError {
  return error instanceof AppError && error.data?.["sqlState"] === insufficientPrivilege;
}

/** The error; one of rights says besides whose they are and where another role can be given. */
export function withRoleHint(error: unknown, role: string): unknown {
  if (!isOfRights(error)) return error;
  const hint = `the role "${role}" lacks the right; give one that has it at -db-user`;
  return new AppError(error.code, `${error.message}; ${hint}`, { cause: error });
}
