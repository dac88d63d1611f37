import { tryThen } from "./maybe-promise.js";

/** A hook that harms nobody: what it throws or rejects with goes to `failed`. */
export const neverThrows =
  <Arguments extends unknown[]>(
    hook: (...given: Arguments) => unknown,
    failed: (error: unknown) => void,
  ) =>
  (...given: Arguments): void => {
    void tryThen(() => hook(...given), nothing, failed);
  };

const nothing = () => {};
