/**
 * Returns whether a missing tool fails the tests that need it. Otherwise, they are skipped by name.
 *
 * The variable `SVC_TEST_TOOLS` decides: `all` tools are required, or `none`. Without it, all are required in CI on
 * Linux, where `.ci/run` installs them.
 */
export function areToolsRequired(
  { SVC_TEST_TOOLS: wanted, CI: ci }: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (!wanted) return platform === "linux" && !!ci;
  if (wanted !== "all" && wanted !== "none") {
    throw new Error(`SVC_TEST_TOOLS cannot be ${wanted}. Set it to all or none.`);
  }
  return wanted === "all";
}
