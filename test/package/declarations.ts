import { join } from "node:path";
import ts from "typescript5";
import { root } from "@svc-webhooks/kit/programs";

/** The declarations of a package's entry. */
export interface Declarations {
  /** The exports, in alphabetical order. */
  readonly exports: readonly { readonly name: string; readonly isType: boolean }[];
  /** Returns the properties of an exported type, including those of its base types. */
  readonly propertiesOf: (type: string) => readonly string[];
  /** Returns the members of an exported union of strings. */
  readonly literalsOf: (type: string) => readonly string[];
}

const options: ts.CompilerOptions = {
  lib: ["lib.es2023.d.ts"],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  strict: true,
  types: [],
};

const resolved = (specifier: string, importer: string) =>
  ts.resolveModuleName(
    specifier,
    importer,
    options,
    ts.sys,
    undefined,
    undefined,
    ts.ModuleKind.ESNext,
  );

const disk = ts.createCompilerHost(options);
const files = new Map<string, ts.SourceFile | undefined>();
const host: ts.CompilerHost = {
  ...disk,
  getSourceFile(file, ...rest) {
    if (!files.has(file)) files.set(file, disk.getSourceFile(file, ...rest));
    return files.get(file);
  },
  // The names do not depend on other packages, and loading the types of Next.js alone takes a second.
  resolveModuleNameLiterals: (specifiers, importer) =>
    specifiers.map(({ text }) =>
      text.startsWith(".") ? resolved(text, importer) : { resolvedModule: undefined },
    ),
};

/** Reads the built declarations of one entry, resolved as for an ES module. */
export function declarationsOf(entry: string): Declarations {
  const file = resolved(entry, join(root, "test/importer.ts")).resolvedModule?.resolvedFileName;
  if (!file) throw new Error(`${entry} has no declarations. Run \`npm run build\`.`);
  const program = ts.createProgram([file], options, host);
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} is not a module.`);
  const symbols = checker.getExportsOfModule(module);

  function typeOf(name: string): ts.Type {
    const symbol = symbols.find((one) => one.name === name);
    if (!symbol) throw new Error(`${entry} does not export ${name}.`);
    return checker.getDeclaredTypeOfSymbol(declared(symbol));
  }
  const declared = (symbol: ts.Symbol) =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const isType = (symbol: ts.Symbol) =>
    !(declared(symbol).flags & ts.SymbolFlags.Value) ||
    symbol.declarations?.some(ts.isTypeOnlyExportDeclaration) === true;

  return {
    exports: symbols
      .map((symbol) => ({ name: symbol.name, isType: isType(symbol) }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    propertiesOf: (type) => checker.getPropertiesOfType(typeOf(type)).map(({ name }) => name),
    literalsOf(type) {
      const union = typeOf(type);
      const members = union.isUnion() ? union.types : [union];
      return members.filter((member) => member.isStringLiteral()).map(({ value }) => value);
    },
  };
}
