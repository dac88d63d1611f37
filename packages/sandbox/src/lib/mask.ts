/** An API key as it may be shown: four of at least twelve characters. */
export const maskedKey = (key: string): string => (key.length < 12 ? "…" : `…${key.slice(-4)}`);
