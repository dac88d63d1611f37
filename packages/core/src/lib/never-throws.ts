import { tryThen } from "./maybe-promise.js";

/** Wraps a hook so that its errors and rejections go to `failed`. */
export const neverThrows =
  <Arguments extends unknown[]>(
    hook: (...values: Arguments) => unknown,
    failed: (error: unknown) => void,
  ) =>
  (...values: Arguments): void => {
    void tryThen(() => hook(...values), nothing, failed);
  };

const nothing = () => {};
