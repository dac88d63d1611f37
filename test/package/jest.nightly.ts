import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { npm } from "@svc-webhooks/kit/npm";
import { outputOf, outsideDirectory } from "@svc-webhooks/kit/programs";
import { tarballsOf } from "@svc-webhooks/kit/tarballs";
import { receiverContract } from "@svc-webhooks/testing/receiver";
import { casesOf } from "../contracts/contract-cases.js";

// This is NestJS's template, as `nest new` writes it, with a longer time limit: Jest runs ts-jest's CommonJS.
const manifest = {
  private: true,
  jest: {
    moduleFileExtensions: ["js", "json", "ts"],
    rootDir: "src",
    testRegex: ".*\\.spec\\.ts$",
    transform: { "^.+\\.(t|j)s$": "ts-jest" },
    collectCoverageFrom: ["**/*.(t|j)s"],
    coverageDirectory: "../coverage",
    testEnvironment: "node",
    testTimeout: 300_000,
  },
};

const shared = {
  declaration: true,
  removeComments: true,
  emitDecoratorMetadata: true,
  experimentalDecorators: true,
  allowSyntheticDefaultImports: true,
  target: "ES2023",
  sourceMap: true,
  outDir: "./dist",
  baseUrl: "./",
  incremental: true,
  skipLibCheck: true,
  strictNullChecks: true,
};

/** The compiler options of the templates. */
const templates = {
  "NestJS 10": { ...shared, module: "commonjs", target: "ES2021" },
  "NestJS 11": {
    ...shared,
    module: "nodenext",
    moduleResolution: "nodenext",
    resolvePackageJsonExports: true,
    esModuleInterop: true,
    isolatedModules: true,
  },
};

const spec = `
import { createReceiver } from "svc-webhooks";
import { emailEvents } from "svc-webhooks/events";
import { webhooks } from "svc-webhooks/express";
import { webhooks as nodeWebhooks } from "svc-webhooks/node";
import { fakeClock, fixture, signedDelivery } from "@svc-webhooks/testing";
import { receiverContract } from "@svc-webhooks/testing/receiver";
import { storeContract } from "@svc-webhooks/testing/store";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

it("receives a delivery", async () => {
  const seen: string[] = [];
  const receiver = createReceiver({
    secret: "whsec_test",
    clock: fakeClock(),
    events: emailEvents,
    on: { "email.sent": (event) => void seen.push(event.type) },
  });
  const { code } = await receiver.receive(await signedDelivery(fixture("email.sent")));
  expect(code).toBe("processed");
  expect(seen).toEqual(["email.sent"]);
  expect(typeof webhooks(receiver)).toBe("function");
  expect(typeof storeContract).toBe("function");
});

receiverContract({ describe, it }, "a receiver", async (handler) => {
  const receiver = createReceiver({
    secret: "whsec_test",
    dedupeBy: "event",
    eventId: ({ event_id }) => (typeof event_id === "string" ? event_id : undefined),
    on: { "email.sent": handler },
    log: () => {},
    onHandlerError: () => {},
  });
  const server = createServer(nodeWebhooks(receiver));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return { url: "http://127.0.0.1:" + port, close: () => server.close() };
});
`;

/** The number of tests: those of the contract, and the one before them. */
const tests = casesOf((runner) => receiverContract(runner, "a receiver", () => "")).length + 1;

const tarballs = await tarballsOf(["svc-webhooks", "testing"]);
const tools = [
  "jest@30",
  "ts-jest@29",
  "@types/jest@30",
  "typescript@5.9",
  "express@5",
  "fast-check@4",
  "zod@4",
];

test.each(Object.entries(templates))(
  "Jest 30 runs a test in the template of %s without configuration",
  async (_name, compilerOptions) => {
    const project = outsideDirectory();
    const write = (file: string, value: object) =>
      writeFileSync(join(project, file), JSON.stringify(value));
    write("package.json", manifest);
    write("tsconfig.json", { compilerOptions });
    const install = ["install", "--no-audit", "--no-fund", "--no-package-lock"];
    outputOf(await npm([...install, ...tarballs, ...tools], { cwd: project }));
    mkdirSync(join(project, "src"));
    writeFileSync(join(project, "src/receiver.spec.ts"), spec);
    // Jest reports on stderr. A failed test rejects with the report.
    const jest = ["node_modules/jest/bin/jest.js", "--ci"];
    const { stderr } = await promisify(execFile)(process.execPath, jest, { cwd: project });
    expect(stderr).toContain(`Tests:       ${tests} passed, ${tests} total`);
  },
);
