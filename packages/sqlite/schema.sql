-- The records and jobs of svc-webhooks, version 2. Running this again changes nothing. migrate() runs it too.

create table if not exists svc_webhooks_versions (
  version integer primary key,
  applied_at text not null default current_timestamp
);

-- key: 16 bytes; hex(key) is the key of the receiver. state: r running, f failed, p parked, d done. Times and the
-- fence are epoch milliseconds. There is no index on expires_at, so a call writes a single page: each claim
-- removes expired records among the neighbors of its own.
create table if not exists svc_webhooks_deliveries (
  key blob not null primary key,
  state text not null check (state in ('r', 'f', 'p', 'd')),
  expires_at integer not null,
  fence integer,
  run integer,
  lease_ends_at integer,
  token text,
  lineage text
) without rowid;

-- The jobs of sqliteInbox. seq: the order of acceptance. key: that of the record; an event has one job in the file.
-- part: the key that partitionBy returned. due_at: when the job may run; the end of the lease while a worker runs it;
-- null for a dead letter, and while an earlier job of the part is not done. taken_by: the worker that runs it. attempts:
-- those that have ended. holds: whether the later jobs of the part wait for this letter. job is last, so that no other
-- column is stored behind a long body.
create table if not exists svc_webhooks_jobs (
  seq integer primary key,
  queue text not null,
  key blob not null unique check (typeof(key) = 'blob' and length(key) = 16),
  part text,
  stored_at integer not null check (typeof(stored_at) = 'integer'),
  due_at integer check (typeof(due_at) in ('integer', 'null')),
  taken_by text,
  attempts integer not null default 0 check (typeof(attempts) = 'integer' and attempts >= 0),
  died_at integer,
  holds integer not null default 0,
  error text,
  job text not null
);
create index if not exists svc_webhooks_jobs_by_state
  on svc_webhooks_jobs (queue, died_at, due_at, taken_by);
create index if not exists svc_webhooks_jobs_by_part
  on svc_webhooks_jobs (queue, part, seq) where part is not null;
create index if not exists svc_webhooks_jobs_dead
  on svc_webhooks_jobs (queue, seq) where died_at is not null;

-- An event that is done has neither a job nor a dead letter: the commit that completes its record removes them.
create trigger if not exists svc_webhooks_settle
after insert on svc_webhooks_deliveries when new.state = 'd' begin
  delete from svc_webhooks_jobs where key = new.key;
end;
create trigger if not exists svc_webhooks_settle_update
after update of state on svc_webhooks_deliveries when new.state = 'd' begin
  delete from svc_webhooks_jobs where key = new.key;
end;

-- The next job of a part may run once the one before it is removed, or has become a dead letter that holds nothing.
create trigger if not exists svc_webhooks_next
after delete on svc_webhooks_jobs when old.part is not null begin
  update svc_webhooks_jobs set due_at = stored_at where died_at is null and seq = (
    select seq from svc_webhooks_jobs
    where queue = old.queue and part = old.part and (died_at is null or holds)
    order by seq limit 1
  ) and not exists (
    select 1 from svc_webhooks_jobs
    where queue = old.queue and part = old.part and due_at is not null
  );
end;
create trigger if not exists svc_webhooks_skip
after update of died_at on svc_webhooks_jobs
when new.part is not null and new.died_at is not null and not new.holds begin
  update svc_webhooks_jobs set due_at = stored_at where died_at is null and seq = (
    select seq from svc_webhooks_jobs
    where queue = new.queue and part = new.part and (died_at is null or holds)
    order by seq limit 1
  ) and not exists (
    select 1 from svc_webhooks_jobs
    where queue = new.queue and part = new.part and due_at is not null
  );
end;

insert or ignore into svc_webhooks_versions (version) values (2);
