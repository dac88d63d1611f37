/** The app's own tables, in the same database as the store's. */

/** The method that pg and PGlite have in common. */
export interface Queries {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
}

export const tables = `
  create table if not exists orders (
    id integer primary key,
    emails_done integer not null default 0
  );
  create table if not exists order_emails (
    email_id text primary key,
    order_id integer not null references orders,
    status text not null default 'sent'
  );
  create table if not exists order_history (
    id bigint generated always as identity primary key,
    order_id integer not null references orders,
    entry text not null
  );
`;

/** Runs three statements. The last two are not idempotent: if they ran twice, the numbers would be wrong. */
export async function recordStatus(tx: Queries, emailId: string, status: string): Promise<void> {
  const { rows } = await tx.query(
    "update order_emails set status = $2 where email_id = $1 returning order_id",
    [emailId, status],
  );
  const [email] = rows as { order_id: number }[];
  if (!email) return; // not an order's email
  await tx.query("update orders set emails_done = emails_done + 1 where id = $1", [email.order_id]);
  await tx.query("insert into order_history (order_id, entry) values ($1, $2)", [
    email.order_id,
    `${emailId} ${status}`,
  ]);
}

export interface Order {
  readonly id: number;
  readonly emailsDone: number;
  readonly emails: Readonly<Record<string, string>>;
  readonly history: readonly string[];
}

export async function ordersIn(db: Queries): Promise<readonly Order[]> {
  const { rows } = await db.query(`
    select id, emails_done as "emailsDone",
      (select json_object_agg(email_id, status order by email_id) from order_emails where order_id = orders.id) as emails,
      (select coalesce(json_agg(entry order by id), '[]') from order_history where order_id = orders.id) as history
    from orders order by id`);
  return rows as Order[];
}
