import { createHmac } from "node:crypto";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { node, outsideDirectory, root, tsc, type Ended } from "@svc-webhooks/kit/programs";
import { senderSecrets } from "./sender-secrets.js";
import { packageFolders } from "../../tools/build/package-folders.js";

export interface CodeBlock {
  /** The block's position among the file's TypeScript and JavaScript blocks: `README.md block 2`. */
  readonly name: string;
  /** The path of the block's page or source file, relative to the root. */
  readonly file: string;
  /** The line number of the first line of code. */
  readonly line: number;
  readonly code: string;
  /** The block's name as a module. */
  readonly module: string;
  readonly extension: "ts" | "js";
}

export interface CompiledBlocks {
  /** Returns the compiler's errors in a block, with the line numbers of its file. */
  readonly errorsIn: (block: CodeBlock) => readonly string[];
  /** The compiler's errors outside the blocks. */
  readonly otherErrors: readonly string[];
  readonly run: (block: CodeBlock, env?: NodeJS.ProcessEnv) => Promise<Ended>;
  /** Returns the path from which the block's module can be imported. */
  readonly modulePath: (block: CodeBlock) => string;
}

/** Returns the pages that users read, as paths relative to the root. */
export function readmes(): readonly string[] {
  const foldersIn = (folder: string) =>
    readdirSync(join(root, folder)).map((name) => `${folder}/${name}`);
  const examples = ["examples", "examples/verified-events"].flatMap(foldersIn);
  const inFolders = [...packageFolders, ...examples].map((folder) => `${folder}/README.md`);
  const pages = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
    .filter((page) => page.endsWith(".md"))
    .map((page) => `docs/${page}`);
  return ["README.md", "SECURITY.md", "examples/README.md", ...inFolders, ...pages].filter(
    (readme) => existsSync(join(root, readme)),
  );
}

/** The sources of the packages, whose doc comments hold an `@example` for each public function. */
export function sources(): readonly string[] {
  return packageFolders
    .map((folder) => `${folder}/src`)
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => `${folder}/${file}`),
    );
}

/** The pages that users read, and the sources. */
export const pagesAndSources: readonly string[] = [...readmes(), ...sources()];

/** Packages that only some suites install, outside the workspace. */
const installedElsewhere =
  /"(?:amqplib"|firebase-functions\/|pg-boss"|@pg-boss\/|@bull-board\/|graphile-worker"|@aws-sdk\/|inngest"|@temporalio\/|@restatedev\/|@trigger\.dev\/|testcontainers")/;

/** Returns whether a block compiles and runs with the packages of the workspace. */
export const isInstalledHere = ({ code }: CodeBlock): boolean => !installedElsewhere.test(code);

/**
 * Returns the text of a page, or of a source file without the stars of its doc comments. Line numbers are
 * unchanged.
 */
export function textOf(file: string): string {
  const text = readFileSync(join(root, file), "utf8");
  return file.endsWith(".ts") ? text.replaceAll(/^ *\*(?: |$)/gm, "") : text;
}

const fence = /^```(?<language>ts|typescript|js|javascript)\b(?<mark>.*)\n(?<code>[^]*?)^```$/gm;

/** The word after a fence's language that marks a block as a part of the block above it. */
export const continued = "continued";

/** Returns the blocks of a file. A block marked `continued` is appended to the one above, at its own line. */
export function codeBlocks(file: string): readonly CodeBlock[] {
  const text = textOf(file);
  const blocks: CodeBlock[] = [];
  for (const { index, groups } of text.matchAll(fence)) {
    const line = text.slice(0, index).split("\n").length + 1;
    const code = groups?.["code"] ?? "";
    const above = blocks.at(-1);
    if (above && groups?.["mark"]?.trim() === continued) {
      const gap = line - above.line - (above.code.split("\n").length - 1);
      blocks[blocks.length - 1] = { ...above, code: above.code + "\n".repeat(gap) + code };
      continue;
    }
    const position = blocks.length + 1;
    blocks.push({
      name: `${file} block ${position}`,
      file,
      line,
      code,
      module: `${file.replaceAll(/\W/g, "-")}-${position}`,
      extension: groups?.["language"]?.startsWith("t") ? "ts" : "js",
    });
  }
  return blocks;
}

/** Returns the lines of README's only block in a language. */
function readmeLines(language: string): readonly string[] {
  const blocks = Array.from(
    textOf("README.md").matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "gm")),
    ([, lines = ""]) => lines.trimEnd().split("\n"),
  );
  const [lines, ...others] = blocks;
  if (!lines || others.length > 0) throw new Error(`README.md must have one block of ${language}.`);
  return lines;
}

/** The lines of the output that README shows below its first command. */
export const shownOutput: readonly string[] = readmeLines("text");

/** The lines that README adds to its first block, below and above lines that it repeats. */
export const shownChange: readonly string[] = readmeLines("diff");

/** Returns README's first block with the lines that make it a receiver of Stripe's webhooks. */
export function stripeApp(): CodeBlock {
  const [first] = codeBlocks("README.md");
  if (!first) throw new Error("README.md has no block of JavaScript.");
  const textOfLines = (sign: RegExp) =>
    shownChange.flatMap((line) => (sign.test(line) ? [`${line.slice(1)}\n`] : [])).join("");
  const before = textOfLines(/^ /);
  if (!first.code.includes(before))
    throw new Error("README's change is not one of its first block.");
  const code = first.code.replace(before, () => textOfLines(/^[ +]/));
  return { ...first, name: "README.md with Stripe", module: "README-stripe", code };
}

/** Returns the fixture that the test in docs/test-your-handler.md reads. */
function fixture(): string {
  const body = Buffer.from('{"type":"email.sent"}');
  const digits = createHmac("sha256", "whsec_test").update(body).digest("hex");
  const headers = [
    ["content-type", "application/json"],
    ["x-svc-delivery-id", "dlv_1"],
    ["x-svc-signature", `sha256=${digits}`],
  ];
  return JSON.stringify({ method: "POST", headers, body: body.toString("base64") });
}

/** Compiles all blocks as modules of one project outside the workspace, with this repository's `node_modules`. */
export async function compileBlocks(blocks: readonly CodeBlock[]): Promise<CompiledBlocks> {
  const directory = outsideDirectory();
  const write = (file: string, text: string) => writeFileSync(join(directory, file), text);
  for (const folder of ["src", "fixtures"]) mkdirSync(join(directory, folder));
  symlinkSync(join(root, "node_modules"), join(directory, "node_modules"), "junction");
  write("package.json", '{ "type": "module" }');
  copyFileSync(
    join(root, "test/package/readme-preload.ts"),
    join(directory, "src/readme-preload.ts"),
  );
  write("fixtures/deliveries.jsonl", fixture());
  for (const { module, extension, code } of blocks) write(`src/${module}.${extension}`, code);
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    moduleDetection: "force",
    strict: true,
    skipLibCheck: true,
    types: ["node"],
    allowJs: true,
    checkJs: true,
    // NestJS's decorators of parameters exist in no other form.
    experimentalDecorators: true,
    rootDir: "src",
    outDir: "dist",
  };
  write("tsconfig.json", JSON.stringify({ compilerOptions, include: ["src"] }));

  const { stdout } = await tsc("typescript", [], { cwd: directory });
  const errors = stdout.split(/\n(?! )/).filter((error) => error !== "");
  const place = /^src\/(?<module>[\w-]+)\.[jt]s\((?<line>\d+),(?<column>\d+)\)/;
  const moduleOf = (error: string) => place.exec(error)?.groups?.["module"];
  return {
    errorsIn: ({ module, file, line }) =>
      errors
        .filter((error) => moduleOf(error) === module)
        .map((error) =>
          error.replace(place, (_match, _module, inBlock, column) =>
            [file, line - 1 + Number(inBlock), column].join(":"),
          ),
        ),
    otherErrors: errors.filter((error) => !blocks.some(({ module }) => module === moduleOf(error))),
    modulePath: ({ module }) => join(directory, `dist/${module}.js`),
    run({ module, code }, env) {
      const file = `./dist/${module}.js`;
      // The connection of a queue keeps its process alive.
      const ending = ["--input-type=module", "--eval", `await import("${file}"); process.exit();`];
      const program = code.includes('"bullmq"') ? ending : [file];
      return node(["--import", "./dist/readme-preload.js", ...program], {
        cwd: directory,
        env: { SVC_WEBHOOK_SECRET: "whsec_test", ...senderSecrets, ...env },
      });
    },
  };
}
