/**
 * The module that the entries `index` and `adapter` both load, so that an app and its adapter load the core once. The
 * entries differ only in their types.
 */
export * from "./index.js";
export * from "./adapter.js";
