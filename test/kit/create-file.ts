import { writeFileSync } from "node:fs";

/** Creates a file, and returns whether this call did: of several processes, only one succeeds. */
export function createFile(path: string, text = ""): boolean {
  try {
    writeFileSync(path, text, { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
