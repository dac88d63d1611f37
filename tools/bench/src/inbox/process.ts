import { postgresServer } from "@svc-webhooks/kit/postgres-server";
import { redisServer, type RedisServer } from "@svc-webhooks/kit/redis-server";
import { acceptingRace, branchRace, bytesRace, holdingRace, runningRace } from "./races.js";
import { openSite } from "./site.js";

/** Measures the races of the section, and sends the results. Runs on a Node that pg-boss supports. */
const [pgBoss = "", folder = "", pace] = process.argv.slice(2);
const quick = pace === "quick";

const persistent = ["--save", "", "--appendonly", "yes", "--appendfsync"];
// Keeps the server's default settings, so that commits wait for the disk.
const postgres = await postgresServer({});
const redis: RedisServer[] = [];
// Stops the servers even after an uncaught error.
process.once("exit", () => {
  void postgres.crash();
  for (const server of redis) void server.kill();
});
for (const policy of ["everysec", "always"]) redis.push(await redisServer([...persistent, policy]));
const [everysec, always] = redis.map(({ port }) => port) as [number, number];
const site = await openSite({
  postgres: postgres.connectionString,
  redis: { everysec, always },
  pgBoss,
});
const races = [
  // Runs first, because the other races leave rows in the table of jobs.
  await bytesRace(site, quick),
  await runningRace(site, quick),
  await holdingRace(site, quick),
  await acceptingRace(site, quick),
  await branchRace(folder, quick),
];
await site.close();
await Promise.all([postgres.close(), ...redis.map((server) => server.close())]);
process.send?.({ title: "Inbox", races });
process.disconnect?.();
