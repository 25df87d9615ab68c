/** The ways to make one list of what both searches found: by standardised scores, or by reciprocal ranks. */
export const fusionKinds = ["zscore", "rrf"] as const;

export type FusionKind = (typeof fusionKinds)[number];

/** Where nothing else is asked for. */
export const defaultFusion: FusionKind = "zscore";
