/** What makes one vector of the vectors of a text's tokens. */
export const poolings = ["mean", "cls", "max"] as const;
export type Pooling = (typeof poolings)[number];
