/** How what both searches found becomes one list: by standardised scores, or by reciprocal ranks. */
export const fusionKinds = ["zscore", "rrf"] as const;

export type FusionKind = (typeof fusionKinds)[number];

/** Where nothing else is asked for. */
export const defaultFusion: FusionKind = "zscore";
