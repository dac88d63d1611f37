import { importsOf, secretIn } from "../code.js";
import type { FrameworkFragment } from "../framework.js";
import type { HandlerFragment, ReceiverFragment } from "../receiver.js";

const first = 'import { Injectable, Module } from "@nestjs/common";';
const core = 'import { NestFactory } from "@nestjs/core";';

/** Returns the name of the method for a type: `invoicePaid` for `invoice.paid`, and `log` for `*`. */
const methodOf = (type: string): string =>
  type.replaceAll(/[\W_]+(\w?)/g, (_match, letter: string) => letter.toUpperCase()) || "log";

/** Returns the type of the events that a handler gets. */
function eventOf({ type }: HandlerFragment, events: string | undefined): string {
  if (events === undefined) return "AnyEvent";
  // A pattern also covers types that the sender's package does not have.
  return type.includes("*") ? "{ type: string }" : `Extract<${events}, { type: "${type}" }>`;
}

/** Returns the class whose methods handle the events, after the decorator of typed events if there is one. */
function handlersOf({ handlers, events }: ReceiverFragment): string {
  const decorator = events === undefined ? "OnWebhook" : "OnEvent";
  const methods = handlers.map((handler) => {
    const { type, parameters, body } = handler;
    const [event = "", context] = parameters;
    const typed = [`${event}: ${eventOf(handler, events)}`];
    if (context !== undefined) typed.push(`${context}: DeliveryContext`);
    return `
      @${decorator}("${type}")
      ${methodOf(type)}(${typed.join(", ")}) ${body.startsWith("{") ? body : `{ ${body}; }`}`;
  });
  return `${events === undefined ? "" : `const OnEvent = handlerOf<${events}>();\n\n`}@Injectable()
    class Handlers {${methods.join("\n")}
    }`;
}

export const nest: FrameworkFragment = {
  name: "nest",
  title: "NestJS",
  mountedWith: "svc-webhooks/nest",
  tested: ["NestJS", "11", "12"],
  install: "svc-webhooks    # in a NestJS project",
  module(receiver) {
    const decorator = receiver.events === undefined ? "OnWebhook" : "handlerOf";
    const handlers = handlersOf(receiver);
    const types = ["AnyEvent", "DeliveryContext"].filter((type) => handlers.includes(`: ${type}`));
    const imports = [
      first,
      core,
      `import { ${decorator}, WebhooksModule } from "svc-webhooks/nest";`,
      ...(types.length > 0 ? [`import type { ${types.join(", ")} } from "svc-webhooks";`] : []),
      ...receiver.imports,
    ];
    const options = [
      `path: "${receiver.path}"`,
      ...receiver.options,
      `secret: ${secretIn(receiver.secretVariable)}`,
    ];
    return `${importsOf(imports)}

${handlers}

@Module({
  imports: [WebhooksModule.forRoot({
    ${options.join(",\n")}
  })],
  providers: [Handlers],
})
class AppModule {}

const app = await NestFactory.create(AppModule);
app.enableShutdownHooks();
await app.listen(3000);`;
  },
};
