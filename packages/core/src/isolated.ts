import { isPromise } from "./promise.js";

/** A hook that harms nobody: what it throws or rejects with goes to `failed`. */
export const isolated =
  <Arguments extends unknown[]>(
    hook: (...given: Arguments) => unknown,
    failed: (error: unknown) => void,
  ) =>
  (...given: Arguments): void => {
    try {
      const result = hook(...given);
      if (isPromise(result)) result.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  };
