import { moduleOf } from "../code.js";
import type { FrameworkFragment } from "../framework.js";

/** The query of a GET request. */
const urlOf = `url: "rawQueryString" in event
  ? "?" + event.rawQueryString
  : "?" + String(new URLSearchParams(event.queryStringParameters as Record<string, string> | undefined)),
`;

export const lambda: FrameworkFragment = {
  name: "lambda",
  title: "AWS Lambda",
  mountedWith: "receiver.receive",
  tested: ["payload versions", "1.0", "2.0"],
  install: "svc-webhooks",
  types: "@types/aws-lambda",
  place: () =>
    "This code works with API Gateway's REST APIs and HTTP APIs (payload versions 1.0 and 2.0) and with function URLs:",
  module: (receiver) =>
    moduleOf(receiver, {
      imports: [
        'import { answer } from "svc-webhooks";',
        'import type { APIGatewayProxyEvent, APIGatewayProxyEventV2 } from "aws-lambda";',
      ],
      mount: `
        export async function handler(event: APIGatewayProxyEvent | APIGatewayProxyEventV2) {
          const outcome = await receiver.receive({
            ${receiver.takesGet ? urlOf : ""}method: "httpMethod" in event ? event.httpMethod : event.requestContext.http.method,
            headers: "multiValueHeaders" in event ? (event.multiValueHeaders ?? event.headers) : event.headers,
            body: Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8"),
          });
          const { status, ...response } = answer(outcome);
          return { statusCode: status, ...response };
        }`,
    }),
};
