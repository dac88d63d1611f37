import { DockerfileParser, type From, type JSONInstruction } from "dockerfile-ast";

/** An instruction of a Dockerfile. */
export interface Step {
  readonly keyword: string;
  readonly flags: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  /** Everything after the flags, on one line. */
  readonly text: string;
  /** The strings of the exec form; empty in the shell form. */
  readonly exec: readonly string[];
}

export interface Stage {
  readonly name: string;
  readonly image: string;
  readonly steps: readonly Step[];
}

/** Parses a Dockerfile whose first instruction is FROM. */
export function readDockerfile(text: string): readonly Stage[] {
  const stages: { name: string; image: string; steps: Step[] }[] = [];
  for (const instruction of DockerfileParser.parse(text).getInstructions()) {
    const keyword = instruction.getKeyword();
    if (keyword === "FROM") {
      const from = instruction as From;
      const name = from.getBuildStage() ?? String(stages.length);
      stages.push({ name, image: from.getImage() ?? "", steps: [] });
      continue;
    }
    const { getFlags, getJSONStrings } = instruction as Partial<JSONInstruction>;
    const flags = getFlags?.call(instruction) ?? [];
    const args = instruction.getArguments().map((argument) => argument.getValue());
    const strings = getJSONStrings?.call(instruction) ?? [];
    stages.at(-1)?.steps.push({
      keyword,
      flags: Object.fromEntries(flags.map((flag) => [flag.getName(), flag.getValue() ?? ""])),
      args,
      text: args.join(" "),
      exec: strings.map((string) => string.getJSONValue()),
    });
  }
  return stages;
}

/** Returns the last step with a keyword, which replaces the earlier ones in an image. */
export const lastOf = ({ steps }: Stage, keyword: string): Step | undefined =>
  steps.findLast((step) => step.keyword === keyword);

/** Returns the command of a health check, which is an instruction inside of HEALTHCHECK. */
export const healthCommand = (step: Step | undefined): readonly string[] =>
  JSON.parse(/^CMD (\[.*\])$/.exec(step?.text ?? "")?.[1] ?? "[]") as string[];

/**
 * Returns the files of the context by the patterns of a `.dockerignore`: the last one that matches a file or a folder
 * above it decides. `*` is the only wildcard.
 */
export function contextOf(ignore: string, files: readonly string[]): readonly string[] {
  const rules = ignore
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map((line) => {
      const path = line.replace(/^!/, "").replaceAll(".", "\\.").replaceAll("*", "[^/]*");
      return { isKept: line.startsWith("!"), pattern: new RegExp(`^${path}(?:/|$)`) };
    });
  return files.filter(
    (file) => rules.findLast(({ pattern }) => pattern.test(file))?.isKept ?? true,
  );
}

/** Returns the files that a COPY from the context selects. */
export const selected = (source: string, context: readonly string[]): readonly string[] =>
  context.filter((file) => file === source || file.startsWith(`${source}/`));

const secretWord = /token|secret|password|passwd|_auth|api_?key|whsec_/i;

/** Returns a sentence for each rule of images that the Dockerfile breaks. */
export function problemsOf(
  stages: readonly Stage[],
  context: readonly string[],
): readonly string[] {
  const found: string[] = [];
  const rule = (isMet: boolean, text: string) => void (isMet || found.push(text));
  for (const [index, { image, steps }] of stages.entries()) {
    rule(/:\d+\.\d+\.\d+-/.test(image), `FROM ${image} does not name a whole version.`);
    const earlier = new Set(stages.slice(0, index).map(({ name }) => name));
    for (const { keyword, flags, args, text } of steps) {
      rule(keyword !== "ADD", "ADD may download. Use COPY.");
      if (["ARG", "ENV", "LABEL"].includes(keyword))
        rule(
          !secretWord.test(text.replaceAll(/"[^"]*"/g, "")),
          `${keyword} ${text} names a secret.`,
        );
      if (keyword !== "COPY") continue;
      const { from } = flags;
      if (from !== undefined) rule(earlier.has(from), `COPY --from=${from}: no such stage.`);
      else
        for (const source of args.slice(0, -1))
          rule(selected(source, context).length > 0, `COPY ${source}: not in the context.`);
    }
  }
  const last = stages.at(-1) ?? { name: "", image: "", steps: [] };
  rule(
    /^[1-9]\d*(?::[1-9]\d*)?$/.test(lastOf(last, "USER")?.text ?? ""),
    "USER is not a number other than 0.",
  );
  rule(lastOf(last, "ENTRYPOINT")?.exec.length !== 0, "ENTRYPOINT is not in the exec form.");
  rule(
    healthCommand(lastOf(last, "HEALTHCHECK")).length > 0,
    "HEALTHCHECK is not in the exec form.",
  );
  return found;
}
