import { testVersion } from "./versions/test-version.js";

const shared = ["reflect-metadata@0.2.2", "rxjs@7.8.2"];
/** Only TypeScript 5.9 has the resolution of most CommonJS projects. */
const commonjs = {
  typescript: { module: "commonjs", moduleResolution: "bundler" },
  typescript5: { module: "commonjs", moduleResolution: "node10" },
};

const lowest = "common core platform-express testing microservices"
  .split(" ")
  .map((name) => `@nestjs/${name}@11.0.0`)
  // Earlier versions require Nest 10.
  .concat("@nestjs/platform-fastify@11.0.10");
testVersion({ version: "11.0", packages: [...lowest, ...shared], commonjs });

testVersion({
  version: "11.2",
  packages: [
    "@nestjs/common@11.2.10",
    "@nestjs/core@11.2.10",
    "@nestjs/platform-express@11.2.10",
    "@nestjs/platform-fastify@11.2.8",
    "@nestjs/testing@11.2.6",
    "@nestjs/microservices@11.2.6",
    ...shared,
  ],
  commonjs,
});
