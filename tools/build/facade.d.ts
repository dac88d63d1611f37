/** The name of the package that users install. It re-exports its dependencies, which are its parts. */
export declare const facade: string;

/** The names of the packages that the facade re-exports. */
export declare const partNames: readonly string[];

/**
 * Returns the name under which users import an entry: `svc-webhooks/inbox` for `@svc-webhooks/core/inbox`. An entry that
 * the facade does not re-export keeps its own name.
 */
export declare function importedAs(entry: string): string;
