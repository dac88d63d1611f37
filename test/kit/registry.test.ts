import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { startRegistry } from "./registry.js";
import { listen } from "./servers.js";

afterEach(() => vi.unstubAllEnvs());

test("a response that breaks off is an error, which a client can retry", async () => {
  const port = await listen((_request, response) => {
    response.writeHead(200, { "content-length": "10" });
    response.write("12345", () => response.destroy());
  });
  vi.stubEnv("npm_config_registry", `http://127.0.0.1:${port}/`);
  const registry = await startRegistry();
  onTestFinished(() => registry.close());
  expect((await fetch(`${registry.url}express`)).status).toBe(502);
});
