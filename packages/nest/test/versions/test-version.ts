import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exampleSecret, expectedResponses, responsesOf } from "@svc-webhooks/kit/examples";
import { spawned } from "@svc-webhooks/kit/launch";
import { ends, sized } from "@svc-webhooks/kit/sized";
import { node, outputOf, root, tsc, withoutLimit, type Compiler } from "@svc-webhooks/kit/programs";
import { compilers } from "@svc-webhooks/kit/type-project";
import { rolldown } from "rolldown";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { isPackage } from "../../../../tools/build/is-package.js";
import { installedWith } from "../../../../test/queues/install.js";

interface Version {
  readonly version: string;
  /** Nest's packages, with their versions. */
  readonly packages: readonly string[];
  /** The options with which each compiler compiles a CommonJS app. */
  readonly commonjs: Readonly<Record<Compiler, object>>;
}

/** The results of Vitest's reporter `json`. */
interface Report {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages: readonly string[];
    }[];
  }[];
}

const tests = join(root, "packages/nest/test");
const example = join(root, "examples/nest/src");

/** Runs the tests of this package and the example on a version of Nest that is installed outside the workspace. */
export function testVersion({ version, packages, commonjs }: Version): void {
  describe(`Nest ${version}`, () => {
    let folder: string;
    beforeAll(async () => {
      folder = await installedWith(packages, { own: ["svc-webhooks", "testing"] });
      await bundleTests(folder);
    });

    test("is installed in the versions that the test names", () => {
      const { version: installed } = JSON.parse(
        readFileSync(join(folder, "node_modules/@nestjs/core/package.json"), "utf8"),
      ) as { readonly version: string };
      expect(packages).toContain(`@nestjs/core@${installed}`);
    });

    // `npm test` runs them with NestFactory, on the version that the workspace has.
    test.each([
      ...sized([], [["NestFactory", ""]] as const),
      ["@nestjs/testing", "@nestjs/testing"],
    ] as const)(
      "passes the tests of this package with %s",
      withoutLimit,
      async (_title, NEST_TESTING) => {
        const vitest = join(root, "node_modules/vitest/vitest.mjs");
        const report = join(folder, "report.json");
        const options = ["--root", folder, "--testTimeout", "600000", "--outputFile", report];
        await node([vitest, "run", ...options, "--reporter", "json"], {
          cwd: folder,
          env: { NEST_TESTING },
        });
        const { success, testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
        const results = testResults.flatMap(({ assertionResults }) => assertionResults);
        const failed = results.filter(({ status }) => status !== "passed");
        expect({ success, failed }).toEqual({ success: true, failed: [] });
        // Two platforms pass 64 cases each.
        expect(results.length).toBeGreaterThan(2 * 64);
      },
    );

    test.each(
      ends(
        compilers.flatMap((compiler) =>
          (["commonjs", "module"] as const).map((type) => [compiler, type] as const),
        ),
      ),
    )("compiles and runs the example with %s as %s", async (compiler, type) => {
      const project = join(folder, `${compiler}-${type}`);
      cpSync(example, join(project, "src"), { recursive: true });
      const compilerOptions = {
        target: "es2023",
        strict: true,
        skipLibCheck: true,
        types: ["node"],
        typeRoots: [join(root, "node_modules/@types")],
        experimentalDecorators: true,
        emitDecoratorMetadata: true,
        rootDir: "src",
        outDir: "dist",
        ...(type === "module" ? { module: "nodenext" } : commonjs[compiler]),
      };
      writeFileSync(join(project, "package.json"), JSON.stringify({ type }));
      writeFileSync(
        join(project, "tsconfig.json"),
        JSON.stringify({ compilerOptions, include: ["src"] }),
      );
      expect(outputOf(await tsc(compiler, [], { cwd: project }))).toBe("");
      const { origin, close } = await spawned(
        "env",
        `SVC_WEBHOOK_SECRET=${exampleSecret}`,
        "PORT=0",
        process.execPath,
        join(project, "dist/main.js"),
      );
      onTestFinished(async () => void (await close()));
      expect(await responsesOf(`${origin}/webhooks`)).toEqual(expectedResponses);
    });
  });
}

/** Writes the tests as modules that find Nest's packages in the folder. */
async function bundleTests(folder: string): Promise<void> {
  symlinkSync(join(root, "node_modules/vitest"), join(folder, "node_modules/vitest"), "junction");
  const names = readdirSync(tests).filter((name) => name.endsWith(".test.ts"));
  const files = [...names.map((name) => join(tests, name)), join(tests, "versions/hybrid.ts")];
  for (const input of files) {
    const bundle = await rolldown({
      input,
      external: (id) => isPackage(id) && !id.startsWith("@svc-webhooks/kit/"),
      platform: "node",
    });
    const name = input.replace(/.*[\\/]/, "").replace(/(?:\.test)?\.ts$/, "");
    await bundle.write({ file: join(folder, `${name}.test.mjs`) });
  }
}
