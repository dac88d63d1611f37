import { Module } from "@nestjs/common";
import { WebhooksModule } from "svc-webhooks/nest";
import { Mail } from "./mail.js";
import { Mailboxes, MailboxesModule } from "./mailboxes.js";

@Module({
  imports: [
    MailboxesModule,
    WebhooksModule.forRootAsync({
      name: "mail",
      // Nest destroys these modules after the last handler has ended.
      imports: [MailboxesModule],
      inject: [Mailboxes],
      useFactory: ({ store }: Mailboxes) => ({
        path: "/webhooks",
        secret: process.env.SVC_WEBHOOK_SECRET ?? "",
        store,
      }),
    }),
  ],
  providers: [Mail],
})
export class AppModule {}
