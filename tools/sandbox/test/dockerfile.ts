import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "@svc-webhooks/kit/programs";

/** An instruction of a Dockerfile. */
export interface Step {
  readonly keyword: string;
  /** The words after the keyword, or the strings of the exec form. HEALTHCHECK has those of its command. */
  readonly words: readonly string[];
}

function stepOf(line: string): Step {
  const [, keyword = "", rest = ""] = /^(\w+)\s+(.*)$/.exec(line) ?? [];
  const exec = /^(?:--.*CMD )?(\[.*\])$/.exec(rest)?.[1];
  return { keyword, words: exec ? (JSON.parse(exec) as string[]) : rest.split(/\s+/) };
}

const text = readFileSync(join(root, "tools/sandbox/Dockerfile"), "utf8");
const steps = text
  .replaceAll(/\\\n\s*/g, "")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map(stepOf);

const start = steps.findLastIndex(({ keyword }) => keyword === "FROM");

/** The instructions of the stage that builds, and of the image itself. */
export const build: readonly Step[] = steps.slice(0, start);
export const image: readonly Step[] = steps.slice(start);

/** Returns the words of an instruction of the image. */
export const wordsOf = (keyword: string): readonly string[] =>
  image.find((step) => step.keyword === keyword)?.words ?? [];
