import { cpSync, existsSync, mkdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { root, run } from "@svc-webhooks/kit/programs";
import { selected, type Stage, type Step } from "./dockerfile.js";

/** A folder with the files that the steps of a stage produce, in place of the root of its file system. */
export interface Built {
  readonly folder: string;
  /** The working directory, as an absolute path in the image. */
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
}

/** Replaces absolute paths of the image with paths in the folder of a stage. */
export const inside = (folder: string, text: string): string =>
  text.replaceAll(/(?<=^|\s)\/(?=\w)/g, `${folder}/`);

interface Machine {
  /** The parent of the stages' folders. */
  readonly directory: string;
  /** The folder with the image's `node`. */
  readonly bin: string;
  /** The files of the context, relative to the root. */
  readonly context: readonly string[];
}

/** Runs the steps of all stages as an engine would, without the system of the base image. Resolves to the last stage. */
export async function buildStages(stages: readonly Stage[], machine: Machine): Promise<Built> {
  const built = new Map<string, Built>();
  let last: Built = { folder: "", workdir: "/", env: {} };
  for (const { name, steps } of stages) {
    last = { folder: join(machine.directory, name), workdir: "/", env: {} };
    mkdirSync(last.folder);
    for (const step of steps) last = await perform(step, last, built, machine);
    built.set(name, last);
  }
  return last;
}

async function perform(
  { keyword, args, text, flags }: Step,
  stage: Built,
  built: ReadonlyMap<string, Built>,
  { bin, context }: Machine,
): Promise<Built> {
  const { folder, workdir, env } = stage;
  const cwd = join(folder, workdir);
  switch (keyword) {
    case "WORKDIR":
      mkdirSync(join(folder, text), { recursive: true });
      return { ...stage, workdir: text };
    case "ENV":
      return {
        ...stage,
        env: {
          ...env,
          ...Object.fromEntries(args.map((pair) => pair.split("=") as [string, string])),
        },
      };
    case "COPY": {
      const target = join(cwd, args.at(-1) ?? "");
      const intoFolder = (args.at(-1) ?? "").endsWith("/");
      for (const source of args.slice(0, -1)) {
        if (flags["from"] === undefined) copyContext(source, target, selected(source, context));
        else copyAcross(join(built.get(flags["from"])?.folder ?? "", source), target, intoFolder);
      }
      return stage;
    }
    case "RUN": {
      const path = `${bin}:${process.env["PATH"]}`;
      const ended = await run("sh", ["-c", inside(folder, text)], {
        cwd,
        env: { ...env, PATH: path },
      });
      if (ended.exitCode !== 0) throw new Error(`RUN ${text}: ${ended.stdout}${ended.stderr}`);
      return stage;
    }
  }
  return stage;
}

/** Copies files of the context. The content of a folder goes to the target, and a file to the target or below it. */
function copyContext(source: string, target: string, files: readonly string[]): void {
  for (const file of files) {
    const isTarget = file === source && !existsSync(target) && basename(target) === basename(file);
    const to = isTarget
      ? target
      : join(target, file === source ? basename(file) : file.slice(source.length));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(root, file), to);
  }
}

function copyAcross(from: string, target: string, intoFolder: boolean): void {
  const to = intoFolder && !statSync(from).isDirectory() ? join(target, basename(from)) : target;
  // Links stay relative, as the links of npm to the workspace's packages are.
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
}
