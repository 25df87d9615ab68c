/** The guard reads SQL as the server does only while these hold: no backslash escapes in plain literals, and UTF-8. */
export const guardedSettings = { standard_conforming_strings: "on", client_encoding: "UTF8" } as const;
