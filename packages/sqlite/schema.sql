-- The records of svc-webhooks, version 1. Running this again changes nothing. migrate() runs it too.

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

insert or ignore into svc_webhooks_versions (version) values (1);
