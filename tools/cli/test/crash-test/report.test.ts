import { expect, test } from "vitest";
import {
  addressesIn,
  isHere,
  proxyVariables,
  throughOf,
  withoutPostgres,
} from "../../src/crash-test/environment.js";
import { commandWords, faultsOf, pointOf } from "../../src/crash-test/settings.js";
import { durationOf } from "../../src/lib/duration.js";

test("faults have the words of the options", () => {
  expect(faultsOf("response_lost, crash")).toEqual(["crash", "response_lost"]);
  expect(faultsOf("status,fail")).toEqual(["fail", "status"]);
  expect(pointOf("crash@3")).toBe("crash@3");
  expect(pointOf("status@3")).toBe("status@3");
  expect(commandWords.repeat("crash@3")).toBe("--at crash@3");
  expect(durationOf("--time-limit", "90s")).toBe(90_000);
});

test.each([
  ["http://localhost:1/", true],
  ["postgres://127.0.0.2/a", true],
  ["redis://[::1]:1", true],
  ["http://example.com/", false],
  ["postgres://127.0.0.1.example.com/a", false],
  ["http://10.0.0.1/", false],
])("%s is on this machine: %s", (url, expected) => {
  expect(isHere(new URL(url))).toBe(expected);
});

test("variables with addresses are found, without secrets", () => {
  const env = {
    DATABASE_URL: "postgresql://me:pw@localhost/app?password=x",
    MONGO: "mongodb://localhost",
    PGHOST: "db.example.com",
    npm_config_registry: "https://registry.npmjs.org/",
    HTTP_PROXY: "http://proxy.example.com",
    HOME: "/home/me",
    SOME_FILE: "file:///etc/hosts",
  };
  expect(addressesIn(env, { through: ["DATABASE_URL"], stub: ["PAY"] })).toEqual([
    { name: "DATABASE_URL", access: "through", shown: "postgresql://localhost/app" },
    { name: "MONGO", access: "unnamed", shown: "mongodb://localhost" },
    { name: "PAY", access: "stub", shown: "not set" },
  ]);
});

test("a client of PostgreSQL without a URL reaches no real server", () => {
  const env = {
    HOME: "/home/me",
    PGUSER: "me",
    PGPASSWORD: "p w",
    PGHOST: "prod",
    PGSSLMODE: "no",
  };
  expect(withoutPostgres(env)).toEqual({
    env: { HOME: "/home/me", PGHOST: "/removed-by-svc-webhooks-crash-test" },
    removed: ["PGUSER", "PGPASSWORD", "PGHOST"],
  });
  expect(withoutPostgres({ HOME: "/home/me", PGTZ: "UTC" }).env).toEqual({
    HOME: "/home/me",
    PGTZ: "UTC",
  });
  const named = { ...env, DATABASE_URL: "postgres://localhost/app?sslmode=disable" };
  const [through] = throughOf(["DATABASE_URL"], named, undefined, false);
  expect(through?.url.href).toBe("postgres://me:p%20w@localhost:5432/app?sslmode=disable");
});

test("the proxy of a server excludes only the ports of this command", () => {
  expect(proxyVariables(1, [2, 3])).toMatchObject({
    HTTP_PROXY: "http://127.0.0.1:1",
    https_proxy: "http://127.0.0.1:1",
    NO_PROXY: "127.0.0.1:2,127.0.0.1:3",
    NODE_USE_ENV_PROXY: "1",
  });
});
