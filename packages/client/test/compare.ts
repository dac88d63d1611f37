import { fileURLToPath } from "node:url";
import ts from "typescript5";
import { typesOf, type Document } from "./document-types.js";

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

const options: ts.CompilerOptions = {
  lib: ["lib.es2023.d.ts"],
  module: ts.ModuleKind.NodeNext,
  strict: true,
  types: ["node"],
  noEmit: true,
  skipLibCheck: true,
};

const disk = ts.createCompilerHost(options);
const parsed = new Map<string, ts.SourceFile | undefined>();

/** A document and the client's type, or a type that takes its place. */
export interface Compared {
  readonly document: Document;
  /**
   * The client's type. It may use `Client`, the package's other types as `Api`, and `With<"sends", { … }>`: a
   * client with other methods of `sends`. Default `Client`.
   */
  readonly client?: string;
}

/** Returns the differences between each document and the client's types, as sentences. */
export function differencesOf(pairs: readonly Compared[]): readonly (readonly string[])[] {
  const found = pairs.map(
    ({ client = "Client" }, index) =>
      `export type Found${index} = DocumentDifferences<import("./document-${index}.js").Operations, ${client}>;`,
  );
  const imports = [
    'import type * as Api from "@svc-webhooks/client";',
    'import type { DocumentDifferences } from "./differences.js";',
    "export type Client = Api.Client;",
    "export type With<G extends keyof Client, Methods> =",
    "  Omit<Client, G> & { [K in G]: Omit<Client[G], keyof Methods> & Methods };",
  ];
  const files = new Map([
    [path("found.ts"), [...imports, ...found].join("\n")],
    ...pairs.map(
      ({ document }, index) => [path(`document-${index}.ts`), typesOf(document)] as const,
    ),
  ]);
  const host: ts.CompilerHost = {
    ...disk,
    fileExists: (file) => files.has(file) || disk.fileExists(file),
    getSourceFile(file, language) {
      const text = files.get(file);
      if (text !== undefined) return ts.createSourceFile(file, text, language);
      if (!parsed.has(file)) parsed.set(file, disk.getSourceFile(file, language));
      return parsed.get(file);
    },
  };
  const program = ts.createProgram([...files.keys(), path("differences.ts")], options, host);
  const errors = ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"));
  if (errors.length > 0) throw new Error(errors.join("\n"));

  const checker = program.getTypeChecker();
  const aliases = program.getSourceFile(path("found.ts"))?.statements ?? [];
  return aliases
    .filter((one) => ts.isTypeAliasDeclaration(one) && one.name.text.startsWith("Found"))
    .map((alias) => sentencesOf(checker.getTypeAtLocation(alias)));
}

function sentencesOf(found: ts.Type): readonly string[] {
  if (found.flags & ts.TypeFlags.Never) return [];
  const sentences = found.isUnion() ? found.types : [found];
  return sentences
    .map((one) => (one.isStringLiteral() ? one.value : "The comparison has no result."))
    .toSorted();
}
