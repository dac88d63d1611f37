import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { parseSync, Visitor } from "rolldown/utils";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";

const text = (file: string) => readFileSync(join(root, file), "utf8");

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => existsSync(join(root, file)));

/** Returns the values of an import map's condition, for all conditions. */
const targetsIn = (entry: unknown): readonly string[] =>
  typeof entry === "string" ? [entry] : Object.values(Object(entry) as object).flatMap(targetsIn);

/** Returns the files of a package that others can import or run, as their names in `src`. */
function entriesOf(name: string): readonly string[] {
  const { exports, bin, imports } = JSON.parse(text(`packages/${name}/package.json`)) as {
    readonly exports: unknown;
    readonly bin?: unknown;
    readonly imports?: Readonly<Record<string, unknown>>;
  };
  // The file in `bin` of the command line is not built. It imports `#main`.
  const built = targetsIn([exports, bin, imports?.["#main"]]).map(
    (file) => /^\.\/dist\/(.+?)(?:\.node)?\.c?js$/.exec(file)?.[1],
  );
  return [...new Set(built)].filter((entry) => entry !== undefined);
}

/** Returns the modules that `index.ts` of a package exports from, as their names in `src`. */
const exportedBy = (name: string, pattern: RegExp): readonly string[] => [
  ...new Set(
    Array.from(text(`packages/${name}/src/index.ts`).matchAll(pattern), ([, file]) => String(file)),
  ),
];

/** The packages whose root is public, with their public folders. */
const publicRoots: Readonly<Record<string, readonly string[]>> = {
  core: [],
  client: [],
  redis: [],
  bullmq: [],
  "pg-boss": [],
  otel: [],
  // Public, because the file of each driver exports its types, and a `from…` function if the store cannot
  // detect the driver.
  postgres: ["drivers"],
  sqlite: [],
};

test.each(Object.entries(publicRoots))(
  "index.ts of %s exports the files at the root, and none in private folders",
  (name, publicFolders) => {
    const source = `packages/${name}/src`;
    const exported = exportedBy(name, /from "\.\/(.+)\.js"/g);
    const fromFolders = exported
      .filter((file) => file.includes("/") && !publicFolders.includes(dirname(file)))
      .map((file) => `index.ts exports ./${file}.js. Move that file to the root of ${source}.`);
    const isPublic = new Set([...exported, ...entriesOf(name)]);
    const notExported = readdirSync(join(root, source))
      .filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"))
      .filter((file) => !isPublic.has(basename(file, ".ts")))
      .map((file) => `${source}/${file} is at the root, and private. Move it into a folder.`);
    expect([...fromFolders, ...notExported]).toEqual([]);
  },
);

test("index.ts of the sandbox exports only types of files in folders", () => {
  const values = exportedBy("sandbox", /export (?:\*|\{[^}]*\}) from "\.\/(.+)\.js"/g);
  expect(values.length).toBeGreaterThan(0);
  const inFolders = values.filter((file) => file.includes("/"));
  expect(
    inFolders.map(
      (file) => `index.ts exports a value of ./${file}.js. Move it to the root of src.`,
    ),
  ).toEqual([]);
});

test.each([...Object.keys(publicRoots), "sandbox", "cli"])(
  "what package.json of %s offers is at the root of src",
  (name) => {
    const entries = entriesOf(name);
    expect(entries.length).toBeGreaterThan(0);
    const inFolders = entries.filter((entry) => entry.includes("/"));
    expect(
      inFolders.map((entry) => `package.json names ${entry}. Move it to the root of src.`),
    ).toEqual([]);
  },
);

/** Returns the source files to which `#specifier` resolves, for all conditions of its package. */
function mappedTo(file: string, specifier: string): readonly string[] {
  const [folder = ""] = /^packages\/[^/]+/.exec(file) ?? [];
  const { imports = {} } = JSON.parse(text(`${folder}/package.json`)) as {
    readonly imports?: Readonly<Record<string, unknown>>;
  };
  return [...new Set(targetsIn(imports[specifier]))].map((target) =>
    normalize(join(folder, target.replace("/dist/", "/src/"))),
  );
}

/** Returns the modules of this repository that each module imports, including type imports. */
function importsByFile(): ReadonlyMap<string, readonly string[]> {
  const modules = files.filter((file) => /\.[jt]sx?$/.test(file));
  const known = new Set(modules);
  const specifiers = /(?:from|import)\s*\(?\s*"([.#][^"]+)"/g;
  return new Map(
    modules.map((file) => {
      const targets = Array.from(text(file).matchAll(specifiers), ([, specifier = ""]) =>
        specifier.startsWith("#")
          ? mappedTo(file, specifier)
          : normalize(join(dirname(file), specifier)),
      ).flat();
      const sources = targets.flatMap((target) => [
        target,
        target.replace(/\.js$/, ".ts"),
        target.replace(/\.js$/, ".tsx"),
      ]);
      return [file, sources.filter((target) => known.has(target))];
    }),
  );
}

test("no import cycle exists", () => {
  const imports = importsByFile();
  const finished = new Set<string>();
  const cycles: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      cycles.push([...path.slice(path.indexOf(file)), file].join(" → "));
      return;
    }
    if (finished.has(file)) return;
    for (const target of imports.get(file) ?? []) walk(target, [...path, file]);
    finished.add(file);
  };
  for (const file of imports.keys()) walk(file, []);
  expect(imports.size).toBeGreaterThan(100);
  expect(cycles).toEqual([]);
});

/** The folders of each source in their order: a folder imports only folders that are before it. */
const folders: Readonly<Record<string, string>> = {
  "packages/core/src": "lib texts crypto log setup claim pipeline inbox",
  "packages/client/src": "http recipes",
  "packages/redis/src": "health",
  "packages/postgres/src": "schema drivers store",
  "packages/sqlite/src": "connection schema store",
  "packages/bullmq/src": "queue admin",
  "packages/pg-boss/src": "queue worker admin",
  "packages/otel/src": "lib signals",
  "packages/cli/src":
    "lib schemes redact drift doctor conformance listen dev crash-test reconcile commands",
  "packages/mcp/src": "lib setup tools",
  "packages/sandbox/src":
    "lib clock assumptions network state delivery mail service http openapi read control inspector scenario",
  "packages/sandbox/src/inspector/views": "parts setup timeline items delivery detail frame",
};

test.each(Object.entries(folders))("the folders of %s import in the order %s", (source, list) => {
  const order = list.split(" ");
  const unlisted = readdirSync(join(root, source), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !order.includes(entry.name))
    .map(
      ({ name }) => `${source}/${name} has no place in this list. Add it after what it imports.`,
    );
  const imports = importsByFile();
  const inSource = (file: string) => file.startsWith(`${source}/`);
  /** Returns the folder of a file, or undefined for a file at the root that is not in the list. */
  const folderOf = (file: string) => {
    const [first = ""] = file.slice(source.length + 1).split("/");
    return order.find((folder) => folder === first.replace(/\.tsx?$/, ""));
  };
  const broken: string[] = [];
  for (const start of [...imports.keys()].filter(inSource)) {
    const from = folderOf(start);
    if (from === undefined) continue;
    const seen = new Set<string>();
    // A file at the root has no place in the order, so its own imports count instead.
    const walk = (file: string, path: readonly string[]): void => {
      for (const target of (imports.get(file) ?? []).filter(inSource)) {
        const to = folderOf(target);
        if (to === undefined && !seen.has(target)) walk(target, [...path, target]);
        seen.add(target);
        if (to !== undefined && order.indexOf(to) > order.indexOf(from)) {
          const way = [...path, target].join(" → ");
          broken.push(`${way}: ${to} comes after ${from}. Move what both need before ${from}.`);
        }
      }
    };
    walk(start, [start]);
  }
  expect([...unlisted, ...broken]).toEqual([]);
});

test("the sandbox's page reads with the functions of read/, never from state/", () => {
  const source = "packages/sandbox/src";
  const page = [...importsByFile()].filter(([file]) => file.startsWith(`${source}/inspector/`));
  expect(page.length).toBeGreaterThan(0);
  const found = page.flatMap(([file, imported]) =>
    imported
      .filter((target) => target.startsWith(`${source}/state/`))
      .map((target) => `${file} imports ${target}. Add a query to ${source}/read.`),
  );
  expect(found).toEqual([]);
});

test("messages of stores, adapters and receivers are ASCII, because log lines escape the rest", () => {
  const sources = files.filter((file) =>
    /^packages\/(?:_template|bullmq|cloudflare|core|events|express|hono|next|node|otel|pg-boss|postgres|redis|sqlite)\/src\/.*\.ts$/.test(
      file,
    ),
  );
  expect(sources.length).toBeGreaterThan(60);
  const isComment = /^\s*(?:\*|\/\/|\/\*)/;
  const found = sources.flatMap((file) =>
    text(file)
      .split("\n")
      .filter((line) => /[^\0-\x7f]/.test(line) && !isComment.test(line))
      .map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
});

test("the core's lib imports only itself and the contracts of clocks and stores", () => {
  const source = "packages/core/src";
  const contracts = new Set([`${source}/clock.ts`, `${source}/store.ts`]);
  const targets = [...importsByFile()].flatMap(([file, imported]) =>
    file.startsWith(`${source}/lib/`) ? imported : [],
  );
  expect(targets.length).toBeGreaterThan(0);
  const isAllowed = (target: string) =>
    target.startsWith(`${source}/lib/`) || contracts.has(target);
  expect(targets.filter((target) => !isAllowed(target))).toEqual([]);
});

/** The maximum number of lines of a function. */
const longestFunction = 120;

test(`no function has more than ${longestFunction} lines`, () => {
  const sources = files.filter((file) => /^packages\/[^/]+\/src\/.*\.[jt]sx?$/.test(file));
  expect(sources.length).toBeGreaterThan(300);
  const found = sources.flatMap((file) => {
    const source = text(file);
    if (source.split("\n").length <= longestFunction) return [];
    const long: string[] = [];
    const measure = ({ start, end }: { readonly start: number; readonly end: number }) => {
      const lines = source.slice(start, end).split("\n").length;
      if (lines <= longestFunction) return;
      const line = source.slice(0, start).split("\n").length;
      long.push(`${file}:${line}: a function of ${lines} lines. Move a part of it out.`);
    };
    new Visitor({
      ArrowFunctionExpression: measure,
      FunctionDeclaration: measure,
      FunctionExpression: measure,
    }).visit(parseSync(file, source).program);
    return long;
  });
  expect(found).toEqual([]);
});

/** The plain words, and the patterns of those that they replace. */
const plainWords: Readonly<Record<string, RegExp>> = {
  fix: /\bmend(?:s|ed|ing)?\b/,
  again: /\banew\b/,
  expensive: /\bdear\b/,
  unnecessarily: /\bin vain\b/,
  "hand-written": /\bby hand\b/,
  "reports, states, notifies": /\btells?\b|\b(?:is|are|was|were|been) told\b|\bhears? of\b/,
  "pending work": /\bunder way\b/,
  immediately: /\bat once\b/,
  "next to": /\bbeside\b/,
  continue: /\bgo(?:es|ing)? on\b|\bwent on\b/,
  "released, cleared": /\blet(?:s|ting)? go\b/,
  unavailable: /\b(?:sender|store|server) is away\b/,
  "a caller of, the next": /\bwho (?:drains|comes first)\b/,
};

test("comments, pages and printed texts use plain words", () => {
  const texts = files.filter(
    // This file contains the list.
    (file) => /\.(?:[jt]sx?|md)$/.test(file) && file !== "test/package/house.test.ts",
  );
  const found = texts.flatMap((file) =>
    text(file)
      .split("\n")
      .flatMap((line, index) =>
        Object.entries(plainWords)
          .filter(([, words]) => words.test(line))
          .map(([plain]) => `${file}:${index + 1}: say "${plain}": ${line.trim()}`),
      ),
  );
  expect(found).toEqual([]);
});

/** The first words of a clause that has lost its noun: "Of a call.", "What it returns.", "That of a page." */
const clauseStart = /\/\*\*?\s+(?:\*\s+)?(?:What|Of|That of|From|Those|Where)\b.*/g;

test("doc comments begin with a verb or a noun phrase", () => {
  const sources = files.filter((file) =>
    /^(?:packages|test|examples)\/.*\.[cm]?[jt]sx?$/.test(file),
  );
  expect(sources.length).toBeGreaterThan(700);
  const found = sources.flatMap((file) => {
    const source = text(file);
    return Array.from(source.matchAll(clauseStart), ({ 0: comment, index }) => {
      const line = source.slice(0, index).split("\n").length;
      return `${file}:${line}: name the subject first: ${comment.replaceAll(/\s+/g, " ")}`;
    });
  });
  expect(found).toEqual([]);
});
