import { NestFactory } from "@nestjs/core";
import { AppModule } from "./app.js";

async function start() {
  const app = await NestFactory.create(AppModule, { logger: ["warn", "error"] });
  app.enableShutdownHooks();
  await app.listen(process.env.PORT ?? 3000);
  const url = new URL(await app.getUrl());
  console.log(`Listening on http://localhost:${url.port}`);
}

void start();
