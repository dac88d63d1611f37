import { publicPackages } from "./package-folders.js";

/** The name of the package that users install. It re-exports its dependencies, which are its parts. */
export const facade = "svc-webhooks";

const { dependencies, exports: facadeExports } = publicPackages
  .map(({ manifest }) => manifest)
  .find(({ name }) => name === facade);

/** The names of the packages that the facade re-exports. */
export const partNames = Object.keys(dependencies);

/**
 * Returns the name under which users import an entry: `svc-webhooks/inbox` for `@svc-webhooks/core/inbox`. An entry that
 * the facade does not re-export keeps its own name.
 */
export function importedAs(entry) {
  const name = entry.replace("@svc-webhooks", facade).replace(/^svc-webhooks\/core\b/, facade);
  return facadeExports[`.${name.slice(facade.length)}`] === undefined ? entry : name;
}
