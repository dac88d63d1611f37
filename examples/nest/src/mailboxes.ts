import { Injectable, Module, type OnModuleDestroy } from "@nestjs/common";
import { memoryStore } from "svc-webhooks";

/** Stands for the app's database: it keeps the records of deliveries, and what handlers write. */
@Injectable()
export class Mailboxes implements OnModuleDestroy {
  readonly store = memoryStore();

  note(text: string) {
    console.log(text);
  }

  onModuleDestroy() {
    console.log("mailboxes closed");
  }
}

@Module({ providers: [Mailboxes], exports: [Mailboxes] })
export class MailboxesModule {}
