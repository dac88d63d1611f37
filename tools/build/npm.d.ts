export declare function npmCommand(
  name: "npm" | "npx",
  path?: string,
): readonly [string, ...string[]];
