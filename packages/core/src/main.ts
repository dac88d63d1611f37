/**
 * The module that the entries `index` and `adapter` load. They differ only in their types: an app and its adapter then
 * load the core once.
 */
export * from "./index.js";
export * from "./adapter.js";
