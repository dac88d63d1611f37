/** Returns the environment variable with which Node loads modules of the tests before a program. */
export const preloading = (...names: readonly string[]): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: names
    .map((name) => `--import=${new URL(`../preloads/${name}`, import.meta.url).href}`)
    .join(" "),
});
