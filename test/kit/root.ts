import { fileURLToPath } from "node:url";

/** The absolute path of the repository. */
export const root: string = fileURLToPath(new URL("../..", import.meta.url));
