import type { DeliveryContext } from "@svc-webhooks/core";
import { handlerOf, OnWebhook } from "@svc-webhooks/nest";
import { expect, test } from "vitest";

type BillingEvent =
  | { readonly type: "invoice.paid"; readonly amount: number }
  | { readonly type: "invoice.voided"; readonly reason: string }
  | { readonly type: "customer.deleted"; readonly customer: string };

const OnBilling = handlerOf<BillingEvent>("billing");

class Handlers {
  @OnBilling("invoice.paid")
  paid(event: { readonly amount: number }, { deliveryId }: DeliveryContext) {
    return `${event.amount} ${deliveryId}`;
  }

  @OnBilling("customer.deleted")
  async deleted({ customer }: { readonly customer: string }) {
    return customer;
  }

  @OnBilling("invoice.*")
  invoice(event: { readonly type: string }) {
    return event.type;
  }

  @OnBilling("*")
  other() {}

  @OnWebhook("email.sent")
  sent(event: { readonly type: string; readonly data: { readonly email_id: string } }) {
    return event.data.email_id;
  }

  // @ts-expect-error the amount is a number
  @OnBilling("invoice.paid")
  wrongField(event: { readonly amount: string }) {
    return event;
  }

  // @ts-expect-error this event has no amount
  @OnBilling("customer.deleted")
  wrongEvent(event: { readonly amount: number }) {
    return event;
  }

  // @ts-expect-error no event has this type
  @OnBilling("invoice.payed")
  wrongType() {}

  // @ts-expect-error no event has this prefix
  @OnBilling("invoices.*")
  wrongPrefix() {}

  // @ts-expect-error the context is not a text
  @OnBilling("invoice.paid")
  wrongContext(_event: unknown, context: string) {
    return context;
  }

  // @ts-expect-error handlers have two parameters
  @OnBilling("invoice.paid")
  thirdParameter(_event: unknown, _context: DeliveryContext, more: string) {
    return more;
  }

  // @ts-expect-error a call of a generator runs nothing
  @OnBilling("invoice.paid")
  *generator() {}

  // @ts-expect-error the decorator is for methods
  @OnWebhook("email.sent")
  readonly property = 1;
}

test("decorators keep the methods of a class", () => {
  expect(new Handlers().invoice({ type: "invoice.paid" })).toBe("invoice.paid");
});
