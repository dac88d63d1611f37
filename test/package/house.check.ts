import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { root } from "@svc-webhooks/kit/programs";
import { packageFolders } from "../../tools/build/package-folders.js";
import { textOf } from "../suites.js";

const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => existsSync(join(root, file)));

/** Returns `file:line: text` for each match of a pattern in these files. */
function matchesIn(sources: readonly string[], pattern: RegExp): readonly string[] {
  expect(sources.length).toBeGreaterThan(60);
  return sources.flatMap((file) => {
    const text = textOf(file);
    return Array.from(text.matchAll(pattern), ({ 0: match, index }) => {
      const line = text.slice(0, index).split("\n").length;
      return `${file}:${line}: ${match.replaceAll(/\s+/g, " ")}`;
    });
  });
}

/** The folders of each source in their order: a folder imports only folders that are before it. */
const folders: Readonly<Record<string, string>> = {
  "packages/core/src": "lib texts crypto log setup claim pipeline operators intake inbox",
  "packages/client/src": "http recipes",
  "packages/redis/src": "health",
  "packages/postgres/src": "schema drivers store",
  "packages/sqlite/src": "connection schema store inbox",
  "packages/bullmq/src": "queue admin",
  "packages/pg-boss/src": "queue worker admin",
  "packages/otel/src": "lib signals",
  "packages/cloudflare/src": "queues",
  "packages/schemes/src": "lib senders",
  "tools/explain/src": "search senders",
  "tools/crash-test/src": "postgres judge report search",
  "tools/testing/src": "schemes adapter receiver store inbox crash-test",
  "tools/testing/src/crash-test": "virtual surface globals postgres simulation",
  "tools/cli/src/crash-test": "proxies databases",
  "tools/cli/src":
    "lib schemes drift redact doctor conformance listen dev crash-test reconcile commands",
  "tools/mcp/src": "lib setup tools",
  "tools/sandbox/src":
    "lib clock assumptions network state delivery mail service http openapi read control inspector scenario",
  "tools/sandbox/src/inspector/views": "parts setup timeline items delivery detail frame",
};

/** The packages in their order: a package imports only packages that are before it. */
const packageOrder = [
  ..."core events schemes node express fastify hono nest next redis postgres sqlite cloudflare bullmq pg-boss otel client svc-webhooks"
    .split(" ")
    .map((name) => `packages/${name}`),
  ..."explain crash-test testing sandbox cli mcp bench template build"
    .split(" ")
    .map((name) => `tools/${name}`),
];

test("packages import only packages before them, and none of what an app loads imports a tool", () => {
  expect(packageFolders.toSorted()).toEqual(packageOrder.toSorted());
  const sources = files.filter((file) => /^(?:packages|tools)\/[^/]+\/src\/.*\.tsx?$/.test(file));
  const specifiers = /^(?!\s*\*).*\b(?:from|import)\s*\(?\s*"@svc-webhooks\/([\w-]+)/gm;
  const broken = sources.flatMap((file) => {
    const folder = file.split("/", 2).join("/");
    return Array.from(textOf(file).matchAll(specifiers), ([, name]) =>
      packageOrder.findIndex((other) => other.endsWith(`/${name}`)),
    )
      .filter((place) => place > packageOrder.indexOf(folder))
      .map((place) => `${file} imports ${packageOrder[place]}, which is after ${folder}.`);
  });
  expect(broken).toEqual([]);
});

test("no program of what an app loads names a tool, except the facade's, which runs the installed command line", () => {
  const programs = files.filter((file) => /^packages\/[^/]+\/bin\//.test(file));
  const tools = packageOrder.flatMap((folder) => folder.match(/(?<=^tools\/).+/) ?? []);
  const specifiers = new RegExp(`"@svc-webhooks/(?:${tools.join("|")})\\b[^"]*"`, "g");
  const named = programs.flatMap((file) =>
    (textOf(file).match(specifiers) ?? []).map((specifier) => `${file} ${specifier}`),
  );
  expect(named).toEqual([
    'packages/svc-webhooks/bin/svc-webhooks.cjs "@svc-webhooks/cli/package.json"',
  ]);
});

/** Returns the files and folders in the trees of a page: its blocks that begin with a folder. */
const namesIn = (page: string) =>
  textOf(page)
    .split(/^```\n/m)
    .filter((block) => /^[\w/-]+\/(?:\s|$)/.test(block))
    .flatMap((tree) => tree.match(/(?<![\w./-])[\w-]+(?:\.tsx?\b|\/(?= ))/g) ?? []);

test.each(files.filter((file) => /(?:^|\/)ARCHITECTURE\.md$/.test(file)))(
  "the trees of %s name only files that exist",
  (page) => {
    const names = namesIn(page);
    expect(names.length).toBeGreaterThan(5);
    expect(names.filter((name) => !files.some((file) => `/${file}`.includes(`/${name}`)))).toEqual(
      [],
    );
  },
);

/** Returns the modules of a source that each of its modules imports, including type imports. */
function importsIn(source: string): ReadonlyMap<string, readonly string[]> {
  const modules = files.filter((file) => file.startsWith(`${source}/`) && /\.tsx?$/.test(file));
  const specifiers = /(?:from|import)\s*\(?\s*"(\.[^"]+)\.js"/g;
  const targetsOf = (file: string) =>
    Array.from(textOf(file).matchAll(specifiers), ([, path = ""]) =>
      normalize(join(dirname(file), path)),
    ).flatMap((path) => modules.filter((one) => one === `${path}.ts` || one === `${path}.tsx`));
  return new Map(modules.map((file) => [file, targetsOf(file)]));
}

test.each(Object.entries(folders))("the folders of %s import in the order %s", (source, list) => {
  const order = list.split(" ");
  const unlisted = readdirSync(join(root, source), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !order.includes(entry.name))
    .map(({ name }) => `${source}/${name} has no place in this list. Add it after its imports.`);
  const imports = importsIn(source);
  /** Returns the place of a file's folder, or -1 for a file at the root that is not in the list. */
  const placeOf = (file: string) =>
    order.indexOf(file.slice(source.length + 1).replace(/\/.*|\.tsx?$/, ""));
  /** Returns the imports of a file in folders. A file at the root has no place, so its own imports count instead. */
  const reached = (file: string, seen: Set<string>): readonly string[] =>
    (imports.get(file) ?? []).flatMap((target) => {
      if (placeOf(target) !== -1) return [target];
      return seen.has(target) ? [] : reached(target, seen.add(target));
    });
  const broken = [...imports.keys()]
    .filter((file) => placeOf(file) !== -1)
    .flatMap((file) =>
      reached(file, new Set())
        .filter((target) => placeOf(target) > placeOf(file))
        .map((target) => `${file} imports ${target}. Move what both need to an earlier folder.`),
    );
  expect([...unlisted, ...broken]).toEqual([]);
});

test("messages of stores, adapters and receivers are ASCII, because log lines escape the rest", () => {
  const sources = files.filter((file) =>
    /^packages\/(?:bullmq|cloudflare|core|events|express|fastify|hono|nest|next|node|otel|pg-boss|postgres|redis|sqlite)\/src\/.*\.ts$/.test(
      file,
    ),
  );
  const outsideComments = /^(?!\s*(?:\*|\/\/|\/\*)).*[^\0-\x7f].*$/gm;
  expect(matchesIn(sources, outsideComments)).toEqual([]);
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
  // `fetch` of Node reports a canceled request in these words.
  "the American spelling":
    /(?:ehavi|[Cc]ol|[Ff]av|[Hh]on|eighb)our|(?<!Request was )[Cc]ancelled|(?:[Ss]erial|ecogn|[Nn]ormal|[Oo]ptim|ummar)is(?:e|ing|ation)|udgement|atalogue|\b[Ll]icence/,
  "a caller of, the next": /\bwho (?:drains|comes first)\b/,
};

test("comments, pages and printed texts use plain words", () => {
  // This file contains the list.
  const texts = files.filter(
    (file) => /\.(?:[jt]sx?|md)$/.test(file) && !import.meta.filename.endsWith(file),
  );
  const words = Object.entries(plainWords);
  const all = new RegExp(words.map(([, pattern]) => pattern.source).join("|"), "g");
  const found = matchesIn(texts, all).map((place) => {
    const plain = words.find(([, pattern]) => pattern.test(place))?.[0];
    return `${place}: say "${plain}"`;
  });
  expect(found).toEqual([]);
});

/** The first words of a clause that has lost its noun: "Of a call.", "What it returns.", "That of a page." */
const clauseStart = /\/\*\*?\s+(?:\*\s+)?(?:What|Of|That of|From|Those|Where)\b.*/g;

test("doc comments begin with a verb or a noun phrase", () => {
  const sources = files.filter((file) =>
    /^(?:packages|test|examples)\/.*\.[cm]?[jt]sx?$/.test(file),
  );
  expect(matchesIn(sources, clauseStart)).toEqual([]);
});
