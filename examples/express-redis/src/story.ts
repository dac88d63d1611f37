import { print, styled } from "./print.js";
import { startServer, type ServerProcess } from "./receiving.js";
import type { RunningRedis } from "./redis.js";
import { secret } from "./sender.js";
import { Stage } from "./stage.js";

/**
 * Sends deliveries to two processes and kills one of them.
 * Resolves to whether every step had its expected result.
 */
export async function runStory(redis: RunningRedis, prefix: string): Promise<boolean> {
  const stage = new Stage();
  const env = { REDIS_URL: redis.url, STORE_PREFIX: prefix, SVC_WEBHOOK_SECRET: secret };
  const start = (name: string) => startServer(name, env, (run) => stage.runStarted(run));
  const [a, b] = await Promise.all([start("A"), start("B")]);

  print(`\nTwo Express processes, A and B, share ${redis.description}:\n`);
  for (const { name, url, pid } of [a, b]) {
    print(`  ${name}  ${url}  ${styled("dim", `process ${pid}`)}`);
  }
  await sendCopies(stage, a, b);
  await killDuringRun(stage, a, b);
  await b.end("SIGTERM");
  return summarize(stage);
}

async function sendCopies(stage: Stage, a: ServerProcess, b: ServerProcess): Promise<void> {
  print("\nThe same delivery (msg_1) reaches both at the same time:\n");
  const running = stage.nextRun();
  const replies = await Promise.all(
    [a, b].map(async (to) => {
      const reply = await stage.send(to, "msg_1", "processed", "in_flight");
      // The handler runs until the other copy has been refused.
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

async function killDuringRun(stage: Stage, a: ServerProcess, b: ServerProcess): Promise<void> {
  print("\nA is killed while it runs the handler for another delivery (msg_2):\n");
  const running = stage.nextRun();
  const lost = stage.send(a, "msg_2", "no response");
  await Promise.race([running, lost]);
  await a.end("SIGKILL");
  await lost;
  stage.note("A is dead, but its lease on msg_2 lasts up to 10 s (leaseMs)");

  void stage.nextRun().then((run) => stage.finish(run));
  for (;;) {
    const reply = await stage.send(b, "msg_2", "in_flight", "processed");
    if (reply.code !== "in_flight") return;
    await stage.pause(reply);
  }
}

function summarize({ done, passed, requests, runs }: Stage): boolean {
  print("\nHandler runs:\n");
  const emails = new Set(requests);
  for (const emailId of emails) {
    const count = requests.filter((id) => id === emailId).length;
    const places = runs
      .filter((run) => run.emailId === emailId)
      .map((run) => `run ${run.run} on ${run.on} ${done.has(run) ? "finished" : "was killed"}`);
    print(`  ${emailId}   ${count} requests   ${places.join(", ")}`);
  }
  const totals = `${emails.size} deliveries, ${requests.length} requests, ${runs.length} handler runs`;
  const allPassed = passed && runs.length === 3 && done.size === 2;
  print(`\n${totals}.`);
  const verdict = allPassed
    ? "Every step ended as expected."
    : "Some steps did not end as expected.";
  print(styled(allPassed ? "green" : "red", verdict));
  return allPassed;
}
