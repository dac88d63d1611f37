/*
 * Invokes the function of a program as Lambda does for an event source: the request is the event, and the response is 200
 * if the function reports no failed message.
 */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { pathToFileURL } from "node:url";

const { handler } = await import(pathToFileURL(process.argv[1]).href);

async function invoke(request, response) {
  const { batchItemFailures } = await handler(await json(request));
  const status = batchItemFailures.length === 0 ? 200 : 500;
  response.writeHead(status).end(JSON.stringify(batchItemFailures));
}

createServer((request, response) => {
  invoke(request, response).catch((error) => {
    console.error(error);
    response.writeHead(500).end();
  });
}).listen(process.env.PORT);
