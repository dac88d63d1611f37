import ts from "typescript";
import { senderPage, siteLink, textOf, titleOf } from "../pages.js";
import type { HandlerFragment, ReceiverFragment } from "./receiver.js";

/** A sender's page, in parts. Its links are addresses of the site. */
export interface SenderFragment {
  /** The name in addresses: `stripe`. */
  readonly name: string;
  /** `Stripe webhooks` */
  readonly title: string;
  /** The text before the code. */
  readonly before: string;
  /** The receiver that the page's first block of code creates. */
  readonly receiver: ReceiverFragment;
  /** The text after the line that leads to the frameworks. */
  readonly after: string;
}

const parts =
  /^# .+\n(?<before>[^]*?)^```ts\n(?<code>[^]*?)^```\n+(?<mounting>\[Install svc-webhooks\].*)\n(?<after>[^]*)$/m;

/** Returns the properties of an object in the source, by their names. */
const propertiesOf = (object: ts.Node | undefined): readonly ts.PropertyAssignment[] =>
  object && ts.isObjectLiteralExpression(object)
    ? object.properties.filter(ts.isPropertyAssignment)
    : [];

/** Returns the receiver of a block of code: `export const receiver = createReceiver({ … });`. */
function receiverIn(code: string, mounting: string): ReceiverFragment {
  const source = ts.createSourceFile("page.ts", code, ts.ScriptTarget.Latest, true);
  const imports = source.statements.filter(ts.isImportDeclaration).map((one) => one.getText());
  const statement = source.statements.find(ts.isVariableStatement);
  const call = statement?.declarationList.declarations[0]?.initializer;
  if (!call || !ts.isCallExpression(call)) throw new Error(`No receiver is created in:\n${code}`);
  const options = propertiesOf(call.arguments[0]);
  const named = (name: string) => options.find((option) => option.name.getText() === name);
  const handlers = propertiesOf(named("on")?.initializer).map(
    ({ name, initializer }): HandlerFragment => {
      if (!ts.isArrowFunction(initializer) || initializer.modifiers) {
        throw new Error(`${name.getText()} is not a plain function.`);
      }
      return {
        type: name.getText().replaceAll('"', ""),
        parameters: initializer.parameters.map((parameter) => parameter.getText()),
        body: initializer.body.getText(),
      };
    },
  );
  const [, path = ""] = /"(\/webhooks\/[^"]+)"/.exec(mounting) ?? [];
  const [, secretVariable = ""] = /env\.(\w+)/.exec(named("secret")?.getText() ?? "") ?? [];
  const [, events] = /<(.+)>/.exec(named("scheme")?.getText() ?? "") ?? [];
  return {
    imports: imports.filter((declaration) => !declaration.includes("{ createReceiver }")),
    options: options
      .filter((option) => option !== named("secret") && option !== named("on"))
      .map((option) => option.getFullText().trim()),
    secretVariable,
    handlers,
    events,
    path,
    takesGet: mounting.includes("app.all("),
  };
}

/**
 * Reads the page of a sender.
 *
 * @throws Error if the page does not have the form of a sender's page
 */
export function senderOf(name: string): SenderFragment {
  const page = senderPage(name);
  const { before, code, mounting, after } = parts.exec(textOf(page))?.groups ?? {};
  if (before === undefined || code === undefined || mounting === undefined || after === undefined) {
    throw new Error(`${page} does not have the form of a sender's page.`);
  }
  const linked = (text: string) =>
    text
      .trim()
      .replaceAll(/\]\(([^)\s]+)\)/g, (_link, link: string) => `](${siteLink(page, link)})`);
  return {
    name,
    title: titleOf(page),
    before: linked(before).replace(/:$/, "."),
    receiver: receiverIn(code, mounting),
    after: linked(after),
  };
}
