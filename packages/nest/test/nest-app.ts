import { Module, type INestApplication, type ModuleMetadata } from "@nestjs/common";
import { NestFactory, type AbstractHttpAdapter } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import { outcomeIn } from "@svc-webhooks/kit/clients";
import { signedDelivery, type SignedDeliveryOptions } from "@svc-webhooks/testing";
import { onTestFinished } from "vitest";

/** The platforms of Nest. */
export const platforms: readonly {
  readonly platform: "Express" | "Fastify";
  readonly adapter: () => AbstractHttpAdapter;
}[] = [
  { platform: "Express", adapter: () => new ExpressAdapter() },
  { platform: "Fastify", adapter: () => new FastifyAdapter() },
];

type NestOptions = NonNullable<Parameters<typeof NestFactory.create>[2]>;

/** The part of `@nestjs/testing` that is used here. The package is installed only for `npm run test:matrix`. */
interface NestTesting {
  readonly Test: {
    createTestingModule(metadata: ModuleMetadata): {
      compile(): Promise<{
        createNestApplication(adapter: AbstractHttpAdapter, options: NestOptions): INestApplication;
      }>;
    };
  };
}

const testing = process.env["NEST_TESTING"];

/** Creates an app with `NestFactory`, or with `@nestjs/testing` in a run for that package. */
export async function create(
  metadata: ModuleMetadata,
  adapter: AbstractHttpAdapter,
  options: NestOptions = {},
): Promise<INestApplication> {
  const all = { logger: false, abortOnError: false, ...options } as const;
  if (testing) {
    const { Test } = (await import(/* @vite-ignore */ testing)) as NestTesting;
    const module = await Test.createTestingModule(metadata).compile();
    const app = module.createNestApplication(adapter, all);
    // `NestFactory` does this too. Without it, `app.use()` of Nest 11.0 fails on Fastify.
    await (adapter as { init?(): Promise<void> }).init?.();
    return app;
  }
  @Module(metadata)
  class AppModule {}
  return NestFactory.create(AppModule, adapter, all);
}

/** Serves an app until the test ends. Resolves to its origin. */
export async function listen(app: INestApplication): Promise<string> {
  onTestFinished(async () => {
    (app.getHttpServer() as { closeAllConnections(): void }).closeAllConnections();
    await app.close();
  });
  await app.listen(0, "127.0.0.1");
  return app.getUrl();
}

/** Sends a signed delivery. Resolves to its outcome, or to the status if another route responded. */
export async function send(url: string, type: string, options: SignedDeliveryOptions = {}) {
  const response = await fetch(url, await signedDelivery({ type }, options));
  return outcomeIn(await response.text()) ?? response.status;
}

/** A secret and a path of a receiver. */
export const options = { path: "/webhooks", secret: "whsec_test" };
