import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { facade, parts, publicPackages, importedAs } from "@svc-webhooks/kit/workspace";
import ts from "typescript5";
import { expect, test } from "vitest";
import { codeBlocks, pagesAndSources, textOf, type CodeBlock } from "./readme.js";

/** Comments that state that a package is already installed. Naming it too could install another major version of it. */
const present: Readonly<Record<string, string>> = {
  next: "in a Next.js project",
  "@nestjs/common": "in a NestJS project",
  "@nestjs/core": "in a NestJS project",
  h3: "in a Nuxt project",
};

/** The specifiers that code imports, types included. */
const importsIn = (code: string): readonly string[] =>
  ts.preProcessFile(code, true, true).importedFiles.map(({ fileName }) => fileName);

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");

/** The peers that the sources of each part import, by the part's entry of the facade. */
const peersOf = new Map(
  parts.map(({ name, source, manifest: { peerDependencies = {} } }) => {
    const sources = readdirSync(join(source, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(source, "src", file), "utf8"))
      .map((text) => text.replaceAll(/^import type .*$/gm, ""));
    const imported = new Set(sources.flatMap(importsIn).map(packageOf));
    return [importedAs(name), Object.keys(peerDependencies).filter((peer) => imported.has(peer))];
  }),
);

/** Returns the packages that an app must install for a block, besides ours. */
const neededBy = ({ code }: CodeBlock): readonly string[] =>
  importsIn(code).flatMap((specifier) => {
    if (specifier.startsWith("@svc-webhooks/") || /^(?:node:|\.)/.test(specifier)) return [];
    if (packageOf(specifier) !== facade) return [packageOf(specifier)];
    return peersOf.get(specifier.split("/").slice(0, 2).join("/")) ?? [];
  });

interface InstallLine {
  readonly file: string;
  readonly line: string;
  /** The first block below it in its file. */
  readonly block: CodeBlock | undefined;
}

const words = (line: string): readonly string[] => line.split(/ +# /)[0]?.split(" ") ?? [];

/** The lines that install the facade. With a version (`svc-webhooks@0.2`), it is an upgrade of what is installed. */
const installLines: readonly InstallLine[] = pagesAndSources.flatMap((file) => {
  const text = textOf(file);
  const blocks = codeBlocks(file);
  return Array.from(
    text.matchAll(/\b(?:npm|pnpm|yarn|bun) (?:install|i|add) [^`"\n]*/g),
    ({ 0: line, index }) => {
      const number = text.slice(0, index).split("\n").length;
      return { file, line, block: blocks.find((one) => one.line > number) };
    },
  ).filter(({ line }) => words(line).includes(facade));
});

test("no package has a peer that npm installs without being asked", () => {
  const required = publicPackages.flatMap(
    ({ name, manifest: { peerDependencies = {}, peerDependenciesMeta = {} } }) =>
      Object.keys(peerDependencies)
        .filter((peer) => peerDependenciesMeta[peer]?.optional !== true)
        .map((peer) => `${name}: ${peer}`),
  );
  expect(required).toEqual([]);
});

test("the peers that parts import are found", () => {
  const importing = [...peersOf].filter(([, peers]) => peers.length > 0);
  expect(Object.fromEntries(importing)).toMatchObject({
    "svc-webhooks/events": ["zod"],
    "svc-webhooks/next": ["next"],
    "svc-webhooks/otel": ["@opentelemetry/api"],
  });
});

test.each(installLines)(
  "$file names what the code below it imports in: $line",
  ({ file, line, block }) => {
    const [, comment] = line.split(/ +# /);
    // Another line installs the types of a package that has nothing else.
    const typed = (name: string) => textOf(file).includes(` @types/${name}\n`);
    const missing = (block === undefined ? [] : neededBy(block)).filter(
      (name) =>
        !words(line).includes(name) &&
        !typed(name) &&
        (comment === undefined || present[name] !== comment),
    );
    expect(missing).toEqual([]);
  },
);

test.each(installLines)("$file names only what its code imports in: $line", ({ file, line }) => {
  const blocks = codeBlocks(file);
  const needed = new Set(blocks.flatMap(neededBy));
  const named = words(line).filter(
    (word) => !/^(?:npm|pnpm|yarn|bun|install|i|add|-.*)$/.test(word),
  );
  const others = named.filter(
    (name) => name !== "" && name !== facade && !name.startsWith("@svc-webhooks/"),
  );
  expect(blocks.length === 0 ? [] : others.filter((name) => !needed.has(name))).toEqual([]);
});
