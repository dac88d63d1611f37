import { testVersion } from "./versions/test-version.js";

testVersion({
  version: "12",
  packages: [
    "@nestjs/common@12.5.1",
    "@nestjs/core@12.5.1",
    "@nestjs/platform-express@12.5.1",
    "@nestjs/platform-fastify@12.5.0",
    "@nestjs/testing@12.1.1",
    "@nestjs/microservices@12.1.1",
    "reflect-metadata@0.2.2",
    "rxjs@7.8.2",
  ],
  // Nest 12 consists of ES modules, which Node loads with `require`.
  commonjs: { typescript: { module: "nodenext" }, typescript5: { module: "nodenext" } },
});
