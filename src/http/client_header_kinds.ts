/** The headers in which a reverse proxy may name its client. */
export const clientHeaders = ["X-Forwarded-For", "Forwarded", "X-Real-IP"] as const;

export type ClientHeader = (typeof clientHeaders)[number];
