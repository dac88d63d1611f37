/** Returns a change's entry, for a package's changelog and for that of the repository. */
const getReleaseLine = async ({ summary }) => `- ${summary.trim().replaceAll(/\n(?=.)/g, "\n  ")}`;

/** Returns no entry: all packages have one version, so every release updates our own dependencies. */
const getDependencyReleaseLine = async () => "";

module.exports = { getReleaseLine, getDependencyReleaseLine };
