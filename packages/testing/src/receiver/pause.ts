/** How long a case waits for a run of the handler that should not happen, in milliseconds. */
export const graceMs = 300;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
