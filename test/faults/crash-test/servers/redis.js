/* A receiver that counts mails in Redis before it marks the event as handled. */
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { createClient } from "redis";

const client = createClient({ url: process.env.REDIS_URL });
client.on("error", () => {});
await client.connect();

createServer(async (request, response) => {
  try {
    const { event_id: id } = await json(request);
    if ((await client.get(`seen:${id}`)) === null) {
      if (process.env.WITH_SCRIPT) await client.eval("return redis.call('incr', 'mails:sent')");
      else await client.incr("mails:sent");
      await client.set(`seen:${id}`, "1");
    }
  } catch {
    response.statusCode = 500;
  }
  response.end();
}).listen(Number(process.env.PORT), "127.0.0.1");
