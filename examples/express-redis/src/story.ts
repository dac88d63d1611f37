import { print, styled } from "./print.js";
import { startReceiving, type Receiving } from "./receiving.js";
import type { RunningRedis } from "./redis.js";
import { secret } from "./sender.js";
import { Stage } from "./stage.js";

/** Sends deliveries to two processes and kills one of them; answers whether all went as told. */
export async function tellStory(redis: RunningRedis, prefix: string): Promise<boolean> {
  const stage = new Stage();
  const env = { REDIS_URL: redis.url, STORE_PREFIX: prefix, SVC_WEBHOOK_SECRET: secret };
  const start = (name: string) => startReceiving(name, env, (run) => stage.begun(run));
  const [a, b] = await Promise.all([start("A"), start("B")]);

  print(`\nTwo Express processes share ${redis.what}:\n`);
  for (const { name, url, pid } of [a, b]) {
    print(`  ${name}  ${url}  ${styled("dim", `process ${pid}`)}`);
  }
  await sendCopies(stage, a, b);
  await killAtWork(stage, a, b);
  await b.end("SIGTERM");
  return summarise(stage);
}

async function sendCopies(stage: Stage, a: Receiving, b: Receiving): Promise<void> {
  print("\nA delivery reaches both at the same time:\n");
  const running = stage.nextRun();
  const replies = await Promise.all(
    [a, b].map(async (to) => {
      const reply = await stage.send(to, "msg_1", "processed", "in_flight");
      // The handler works until the other copy has been refused.
      if (reply.code === "in_flight") stage.finish(await running);
      return { to, reply };
    }),
  );
  for (const { to, reply } of replies) {
    if (reply.code !== "in_flight") continue;
    await stage.pause(reply);
    await stage.send(to, "msg_1", "duplicate");
  }
}

async function killAtWork(stage: Stage, a: Receiving, b: Receiving): Promise<void> {
  print("\nA process is killed while its handler works:\n");
  const running = stage.nextRun();
  const lost = stage.send(a, "msg_2", "no answer");
  await Promise.race([running, lost]);
  await a.end("SIGKILL");
  await lost;
  stage.tell("A is dead. Its lease is not: for 10 s (leaseMs) nobody else may run msg_2");

  void stage.nextRun().then((run) => stage.finish(run));
  for (;;) {
    const reply = await stage.send(b, "msg_2", "in_flight", "processed");
    if (reply.code !== "in_flight") return;
    await stage.pause(reply);
  }
}

function summarise({ done, isAsTold, requests, runs }: Stage): boolean {
  print("\nWhat ran where:\n");
  const emails = new Set(requests);
  for (const emailId of emails) {
    const count = requests.filter((one) => one === emailId).length;
    const places = runs
      .filter((run) => run.emailId === emailId)
      .map((run) => `run ${run.run} on ${run.on} was ${done.has(run) ? "done" : "killed"}`);
    print(`  ${emailId}   ${count} requests   ${places.join(", ")}`);
  }
  const totals = `${emails.size} deliveries, ${requests.length} requests, ${runs.length} handler runs`;
  const isGood = isAsTold && runs.length === 3 && done.size === 2;
  print(`\n${totals}.`);
  const verdict = isGood ? "All went as it should." : "Not all went as it should.";
  print(styled(isGood ? "green" : "red", verdict));
  return isGood;
}
