/** Where servers that share their state keep sessions, grants and keys: no caller's statement reads it. */
export const stateSchema = "postern_state";
