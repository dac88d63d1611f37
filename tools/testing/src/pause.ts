/** How long a case waits for a mistake to show, such as a second run of the handler, in milliseconds. */
export const graceMs = 300;

export const pause = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));
