import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { root } from "./programs.js";

/** A request of `vectors/*.json`. */
export interface Vector {
  readonly title: string;
  /** Whether the signature is valid at the time `now`. */
  readonly valid: boolean;
  /** The publication that the example comes from. Undefined for this project's own. */
  readonly source?: string;
  /** The key, if it is not that of the file. */
  readonly secret?: string;
  readonly now: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface VectorFile {
  /** The name of the file without `.json`: `service`, or the scheme's name in the command line. */
  readonly name: string;
  readonly scheme: string | null;
  readonly secret: string;
  readonly vectors: readonly Vector[];
}

const folder = join(root, "vectors");

/** Every file of signature vectors. */
export const vectorFiles: readonly VectorFile[] = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .map((file) => ({
    name: basename(file, ".json"),
    ...(JSON.parse(readFileSync(join(folder, file), "utf8")) as Omit<VectorFile, "name">),
  }));
