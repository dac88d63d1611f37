import { tryThen } from "./maybe-promise.js";

/** Wraps a hook so that it never throws: `failed`, which must not throw, receives its errors and rejections. */
export const neverThrows =
  <Arguments extends unknown[]>(
    hook: (...values: Arguments) => unknown,
    failed: (error: unknown) => void,
  ) =>
  (...values: Arguments): void => {
    void tryThen(() => hook(...values), nothing, failed);
  };

const nothing = () => {};
