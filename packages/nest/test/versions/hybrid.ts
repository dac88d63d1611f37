import { Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Receiver } from "@svc-webhooks/core";
import { OnWebhook, receiverToken, WebhooksModule } from "@svc-webhooks/nest";
import { signedDelivery } from "@svc-webhooks/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { create, listen, options, platforms, send } from "../nest-app.js";

/** The number of handled events. */
let handled = 0;

@Injectable()
class Mail {
  @OnWebhook("email.*")
  mail() {
    handled += 1;
  }
}

const metadata = { imports: [WebhooksModule.forRoot(options)], providers: [Mail] };

/** A microservice over TCP. */
const tcp = { transport: 0, options: { host: "127.0.0.1", port: 0 } };

describe.each(platforms)("on $platform", ({ adapter }) => {
  test("a hybrid app processes a delivery", async () => {
    handled = 0;
    const app = await create(metadata, adapter());
    app.connectMicroservice(tcp, { inheritAppConfig: true });
    await app.startAllMicroservices();
    const origin = await listen(app);
    expect(await send(`${origin}/webhooks`, "email.sent")).toBe("processed");
    expect(handled).toBe(1);
  });
});

test("in a microservice, the receiver can be injected and has no path", async () => {
  handled = 0;
  @Module(metadata)
  class AppModule {}
  const app = await NestFactory.createMicroservice(AppModule, { ...tcp, logger: false });
  await app.init();
  onTestFinished(() => app.close());
  const receiver = app.get<Receiver>(receiverToken());
  const outcome = await receiver.receive(await signedDelivery({ type: "email.sent" }));
  expect([outcome.code, handled]).toEqual(["processed", 1]);
});
