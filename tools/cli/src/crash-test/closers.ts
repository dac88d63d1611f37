/** A list of functions to call when a history or the command ends. */
export interface Closers {
  readonly add: (close: () => unknown) => void;
  /** Calls all functions, the newest first, and each only once. If one fails, the others are still called. */
  readonly close: () => Promise<void>;
}

export function createClosers(): Closers {
  const all: (() => unknown)[] = [];
  return {
    add: (close) => void all.push(close),
    async close() {
      for (let close = all.pop(); close; close = all.pop()) {
        try {
          await close();
        } catch {
          // The error is ignored, because the process, database or server has probably ended by itself.
        }
      }
    },
  };
}
