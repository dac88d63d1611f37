import { Injectable } from "@nestjs/common";
import { handlerOf } from "svc-webhooks/nest";
import { Mailboxes } from "./mailboxes.js";

interface Delivered {
  readonly type: "email.delivered";
  readonly data: { readonly email_id: string };
}

interface Bounced {
  readonly type: "email.bounced";
  readonly data: { readonly email_id: string; readonly reason: string };
}

/** Decorates the handlers of the receiver "mail". A wrong type or parameter does not compile. */
const OnMail = handlerOf<Delivered | Bounced>("mail");

@Injectable()
export class Mail {
  constructor(private readonly mailboxes: Mailboxes) {}

  @OnMail("email.delivered")
  delivered({ data }: Delivered) {
    this.mailboxes.note(`delivered: ${data.email_id}`);
  }

  @OnMail("email.bounced")
  bounced({ data }: Bounced) {
    this.mailboxes.note(`bounced: ${data.email_id}, ${data.reason}`);
  }
}
