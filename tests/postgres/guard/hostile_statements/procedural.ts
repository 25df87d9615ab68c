import { type HostileStatement, named } from "./hostile_statement.ts";

export const procedural: readonly HostileStatement[] = named([
  "DO $$ BEGIN DELETE FROM orders; END $$",
  "DO LANGUAGE plpgsql 'BEGIN DELETE FROM orders; COMMIT; END'",
  "CALL wipe()",
  "CALL public.wipe()",
  "PREPARE p AS DELETE FROM orders",
  "PREPARE p AS SELECT 1",
  "EXECUTE p",
  "EXECUTE p(1)",
  "DEALLOCATE ALL",
  "DECLARE c CURSOR FOR SELECT 1",
  "DECLARE c CURSOR WITH HOLD FOR SELECT evil()",
  "FETCH ALL FROM c",
  "MOVE c",
  "CLOSE ALL",
  "LISTEN x",
  "UNLISTEN *",
  "NOTIFY x, 'y'",
  "DISCARD ALL",
], "is not a read");
