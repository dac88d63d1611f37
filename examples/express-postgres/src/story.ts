import { openDatabase, type Database } from "./database.js";
import { ordersIn, type Order } from "./orders.js";
import type { Point } from "./part.js";
import type { Place } from "./place.js";
import { print, styled } from "./print.js";
import { startServer, type ServerProcess } from "./receiving.js";
import { secret, send } from "./sender.js";

/**
 * Kills a process before its commit, and another one after it.
 * Resolves to whether every step had its expected result.
 */
export async function runStory(place: Place): Promise<boolean> {
  await inDatabase(place, async (database) => {
    await database.migrate();
    await database.query("insert into orders (id) values (1)");
    await database.query(
      "insert into order_emails (email_id, order_id) values ('msg_1', 1), ('msg_2', 1)",
    );
  });
  const stage = new Stage(place);
  // Only one process at a time can use a folder of PGlite, so each starts when its predecessor is dead.
  if (place.isShared) await Promise.all(["A", "B", "C"].map((name) => stage.server(name)));
  print(`\nOrders, their emails and the delivery records are in ${place.description}.`);

  print("\nA is killed in its transaction: the rows of msg_1 are written but not committed.\n");
  await stage.kill("A", "written", "email.delivered", "msg_1");
  await inDatabase(place, async (database) => {
    stage.show(await ordersIn(database), { msg_1: "sent", msg_2: "sent" }, []);
    // Only this demo does this: the lease of a dead process ends by itself, here after 10 s.
    await database.query("update svc_webhooks.deliveries set lease_ends_at = now()");
  });
  print(styled("dim", "  (the demo ends A's lease, which would last up to 10 s)"));
  await stage.retry("B", "email.delivered", "msg_1", "200 processed");

  print("\nB is killed after its commit: msg_2 is done, but the sender got no response.\n");
  await stage.kill("B", "committed", "email.bounced", "msg_2");
  await stage.retry("C", "email.bounced", "msg_2", "200 duplicate");
  const { url } = await stage.server("C");
  stage.show(
    (await (await fetch(`${url}/orders`)).json()) as readonly Order[],
    { msg_1: "delivered", msg_2: "bounced" },
    ["msg_1 delivered", "msg_2 bounced"],
  );
  await (await stage.server("C")).end("SIGTERM");

  const verdict = stage.passed
    ? "Two kills, two effects. Outside `transaction`, each effect would have happened twice:\nemails_done would be 4, and each email would have two rows of history."
    : "Some steps did not end as expected.";
  print(styled(stage.passed ? "green" : "red", `\n${verdict}`));
  return stage.passed;
}

/** Sends deliveries to processes, and prints a line for each event. */
class Stage {
  passed = true;
  readonly #place: Place;
  readonly #servers = new Map<string, Promise<ServerProcess>>();

  constructor(place: Place) {
    this.#place = place;
  }

  server(name: string): Promise<ServerProcess> {
    const started =
      this.#servers.get(name) ??
      startServer(name, { ...this.#place.env, SVC_WEBHOOK_SECRET: secret });
    this.#servers.set(name, started);
    return started;
  }

  async kill(name: string, point: Point, type: string, emailId: string): Promise<void> {
    const server = await this.server(name);
    server.killAt(point);
    this.#line(`${emailId} to ${name}`, await send(server.url, type, emailId, 1), "no response");
    await server.end("SIGKILL");
  }

  async retry(name: string, type: string, emailId: string, expected: string): Promise<void> {
    const { url } = await this.server(name);
    this.#line(`${emailId} to ${name}`, await send(url, type, emailId, 2), expected);
  }

  /** Prints the rows of the only order and compares them. */
  show(orders: readonly Order[], emails: Order["emails"], history: readonly string[]): void {
    const [order] = orders;
    this.#line("order_emails", textOf(order?.emails), textOf(emails));
    this.#line("emails_done", String(order?.emailsDone), String(history.length));
    this.#line(
      "order_history",
      order?.history.join(", ") || "empty",
      history.join(", ") || "empty",
    );
  }

  #line(what: string, actual: string, expected: string): void {
    const isGood = actual === expected;
    if (!isGood) this.passed = false;
    const text = `${isGood ? "✓" : "✗"} ${what.padEnd(15)}${actual}`;
    print(`  ${isGood ? text : styled("red", `${text}, expected: ${expected}`)}`);
  }
}

const textOf = (emails: Order["emails"] = {}) =>
  Object.entries(emails)
    .map(([emailId, status]) => `${emailId} ${status}`)
    .join(", ");

async function inDatabase(
  { env }: Place,
  work: (database: Database) => Promise<void>,
): Promise<void> {
  const database = openDatabase(env);
  try {
    await work(database);
  } finally {
    await database.close();
  }
}
