-- The records of svc-webhooks, version 2. Running this again changes nothing. migrate() runs it too.
-- Blank lines separate the statements. A function keeps its name and its meaning once it is published:
-- processes of the previous version still call it.
--
-- No name is resolved through the caller's search_path, in which other roles may create functions, operators
-- and types (CVE-2018-1058): each function sets its own, and everything outside of a body is qualified.

-- "if not exists" would need the right to create schemas in the database, even if this one exists.
do $$ begin
  if pg_catalog.to_regnamespace('svc_webhooks') is null then create schema svc_webhooks; end if;
end $$;

create table if not exists svc_webhooks.versions (
  version integer primary key,
  applied_at pg_catalog.timestamptz not null default pg_catalog.now()
);

-- state: r running, f failed, p parked, d done. Columns that every done record has come first; the others
-- are null then. A key of 32 hex digits takes half of its bytes as a uuid. Completions clean a page once less
-- than 10 % of it is free; a fillfactor above 90 lets new claims use what was cleaned.
create table if not exists svc_webhooks.deliveries (
  fence bigint,
  lease_ends_at pg_catalog.timestamptz,
  expires_at pg_catalog.timestamptz not null,
  key pg_catalog.uuid primary key,
  lineage pg_catalog.text,
  run integer,
  purge_hour integer not null,
  state pg_catalog."char" not null
    check (state operator(pg_catalog.=) any (array['r', 'f', 'p', 'd']::pg_catalog."char"[])),
  token pg_catalog.text
) with (fillfactor = 95, autovacuum_vacuum_scale_factor = 0.02);

do $$ begin
  alter table svc_webhooks.deliveries set (autovacuum_vacuum_insert_scale_factor = 0.05);
-- PostgreSQL 12 does not have it.
exception when invalid_parameter_value then null;
end $$;

-- Whole hours: a claim, its completion and its renewals rarely change them, so that these updates stay in
-- the table's page and need no entry in any index.
create index if not exists deliveries_purge_hour on svc_webhooks.deliveries (purge_hour);

-- The index of the primary key, if a restore that was interrupted has left it out: without it, each of two
-- concurrent claims inserts a record.
create unique index if not exists deliveries_pkey on svc_webhooks.deliveries (key);

-- The hour since 1970 after which a record that expires at this time can be removed.
create or replace function svc_webhooks.hour_1(at pg_catalog.timestamptz) returns integer
language plpgsql stable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  return ceil(extract(epoch from at) / 3600);
end $$;

-- Every parameter and result is a text, so that no driver's types matter. With a lock_timeout, a process that
-- is frozen in a transaction does not hold the connections of the others. Returns
-- c<fence> <run> claimed, followed by " t" if a run without a result was taken over | b<milliseconds of the lease that are left> busy | d<lineage> done | p<lineage> parked.
create or replace function svc_webhooks.claim_1(
  id pg_catalog.text, owner pg_catalog.text, lease_ms pg_catalog.text, retain_ms pg_catalog.text,
  by_lineage pg_catalog.text, take_parked pg_catalog.text, durable pg_catalog.text
) returns pg_catalog.text language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  its_key uuid := id::uuid;
  lease interval := lease_ms::float8 * interval '1 millisecond';
  retention interval := retain_ms::float8 * interval '1 millisecond';
  at timestamptz;
  locked boolean := false;
  taken_over text := '';
  r svc_webhooks.deliveries%rowtype;
begin
  loop
    if locked then
      select * into r from svc_webhooks.deliveries d where d.key = its_key for update;
    else
      select * into r from svc_webhooks.deliveries d where d.key = its_key;
    end if;
    -- After the lock, which may have taken time.
    at := clock_timestamp();
    if r.key is null then
      insert into svc_webhooks.deliveries as d
        (key, state, run, fence, token, lineage, lease_ends_at, expires_at, purge_hour)
      values (its_key, 'r', 1, floor(extract(epoch from at) * 1000), owner, nullif(by_lineage, ''),
        at + lease, at + retention, svc_webhooks.hour_1(at + retention))
      on conflict do nothing returning d.* into r;
      if r.key is null then continue; end if;
      exit;
    end if;
    if r.expires_at > at then
      if r.state = 'd' or r.state = 'p' and take_parked = '' then
        return r.state::text || coalesce(r.lineage, '');
      end if;
      if r.state = 'r' and r.lease_ends_at > at then
        -- Otherwise a clock that was set back would keep a dead claim alive.
        if r.lease_ends_at > at + lease then
          r.lease_ends_at := at + lease;
          update svc_webhooks.deliveries d set lease_ends_at = r.lease_ends_at
          where d.key = its_key and d.state = 'r' and d.token = r.token;
        end if;
        if r.token = owner then return format('c%s %s', r.fence, r.run); end if;
        return 'b' || ceil(extract(epoch from r.lease_ends_at - at) * 1000);
      end if;
    end if;
    -- It may be taken. Look again under its lock.
    if not locked then locked := true; continue; end if;
    if r.expires_at <= at or r.state = 'p' then r.run := 0; elsif r.state = 'r' then taken_over := ' t'; end if;
    update svc_webhooks.deliveries d set
      state = 'r', token = owner, lineage = nullif(by_lineage, ''), run = coalesce(r.run, 0) + 1,
      fence = greatest(coalesce(r.fence, 0) + 1, floor(extract(epoch from at) * 1000)::bigint),
      lease_ends_at = at + lease, expires_at = at + retention, purge_hour = svc_webhooks.hour_1(at + retention)
    where d.key = its_key returning d.* into r;
    exit;
  end loop;
  -- A claim that a crash of the server forgets lets another run start, and only one of the two can finish.
  if durable = '' then perform set_config('synchronous_commit', 'off', true); end if;
  -- Two records per claim on average. Last, because it waits for no lock and must not make others wait.
  if random() < 0.02 then perform svc_webhooks.purge_1('100'::text); end if;
  return format('c%s %s%s', r.fence, r.run, taken_over);
end $$;

-- Returns owner, late, restored or already: which record it found.
create or replace function svc_webhooks.complete_1(
  id pg_catalog.text, owner pg_catalog.text, retain_ms pg_catalog.text, by_lineage pg_catalog.text
) returns pg_catalog.text language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  its_key uuid := id::uuid;
  expiry timestamptz := clock_timestamp() + retain_ms::float8 * interval '1 millisecond';
  r svc_webhooks.deliveries%rowtype;
begin
  loop
    select * into r from svc_webhooks.deliveries d where d.key = its_key for update;
    exit when found;
    insert into svc_webhooks.deliveries (key, state, lineage, expires_at, purge_hour)
    values (its_key, 'd', nullif(by_lineage, ''), expiry, svc_webhooks.hour_1(expiry)) on conflict do nothing;
    if found then return 'restored'; end if;
  end loop;
  if r.expires_at <= clock_timestamp() then r.state := null; end if;
  update svc_webhooks.deliveries d set
    state = 'd', token = null, run = null, fence = null, lease_ends_at = null,
    lineage = case when r.state = 'd' then r.lineage else nullif(by_lineage, '') end,
    expires_at = expiry, purge_hour = svc_webhooks.hour_1(expiry)
  where d.key = its_key;
  return case
    when r.state is null then 'restored'
    when r.state = 'd' then 'already'
    when r.state = 'r' and r.token = owner then 'owner'
    else 'late'
  end;
end $$;

-- Completes the run with this fence, in the caller's transaction. Returns the run's token. Raises SVC01
-- if it does not own the record, so that nothing of the transaction can be committed.
create or replace function svc_webhooks.finish_1(id pg_catalog.text, its_fence pg_catalog.text)
returns pg_catalog.text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  r svc_webhooks.deliveries%rowtype;
begin
  select * into r from svc_webhooks.deliveries d where d.key = id::uuid for update;
  if r.state is distinct from 'r' or r.fence <> its_fence::bigint then
    raise exception using errcode = 'SVC01', message = case
      when r.key is null then 'There is no record of this delivery: the receiver must use this store and schema.'
      when r.state = 'd' then 'This delivery is already completed, by another run or an earlier transaction of this one.'
      else 'Another run has taken over this delivery.'
    end;
  end if;
  -- A fence is the time of its claim, so this keeps the record for its full retention from now.
  r.expires_at := r.expires_at + greatest(clock_timestamp() - to_timestamp(r.fence / 1000.0), interval '0');
  update svc_webhooks.deliveries d set
    state = 'd', token = null, run = null, fence = null, lease_ends_at = null,
    expires_at = r.expires_at, purge_hour = svc_webhooks.hour_1(r.expires_at)
  where d.key = r.key;
  return r.token;
end $$;

-- Releases the claim as failed, parked or unused. Returns 1 if the token owned the record, otherwise 0.
create or replace function svc_webhooks.release_1(
  id pg_catalog.text, owner pg_catalog.text, retain_ms pg_catalog.text, by_lineage pg_catalog.text, become pg_catalog.text
) returns pg_catalog.text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  at timestamptz := clock_timestamp();
  expiry timestamptz := at + retain_ms::float8 * interval '1 millisecond';
begin
  update svc_webhooks.deliveries d set
    state = case become when 'parked' then 'p' else 'f' end, token = null, lease_ends_at = null,
    run = d.run - case become when 'unused' then 1 else 0 end,
    lineage = case become when 'parked' then nullif(by_lineage, '') end,
    expires_at = expiry, purge_hour = svc_webhooks.hour_1(expiry)
  where d.key = id::uuid and d.state = 'r' and d.token = owner and d.expires_at > at;
  return found::integer;
end $$;

-- Renews the lease. Returns 1 if the token owned the record, otherwise 0.
create or replace function svc_webhooks.extend_1(id pg_catalog.text, owner pg_catalog.text, lease_ms pg_catalog.text)
returns pg_catalog.text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  at timestamptz := clock_timestamp();
  lease_end timestamptz := at + lease_ms::float8 * interval '1 millisecond';
begin
  update svc_webhooks.deliveries d set
    lease_ends_at = lease_end, expires_at = greatest(d.expires_at, lease_end),
    purge_hour = svc_webhooks.hour_1(greatest(d.expires_at, lease_end))
  where d.key = id::uuid and d.state = 'r' and d.token = owner and d.expires_at > at;
  return found::integer;
end $$;

-- Returns 1 if there was a record without a live lease, otherwise 0.
create or replace function svc_webhooks.forget_1(id pg_catalog.text) returns pg_catalog.text
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '1s' as $$
declare
  at timestamptz := clock_timestamp();
begin
  delete from svc_webhooks.deliveries d
  where d.key = id::uuid and d.expires_at > at and not (d.state = 'r' and d.lease_ends_at > at);
  return found::integer;
end $$;

-- Removes records whose hour has passed, at most this many. Returns how many.
create or replace function svc_webhooks.purge_1(at_most pg_catalog.text) returns pg_catalog.text
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  -- In the statement it would be computed for each record, of which the index then finds none.
  this_hour integer := floor(extract(epoch from clock_timestamp()) / 3600);
  removed integer;
begin
  delete from svc_webhooks.deliveries where key in (
    select d.key from svc_webhooks.deliveries d
    where d.purge_hour <= this_hour
    order by d.purge_hour limit at_most::integer for update skip locked
  );
  get diagnostics removed = row_count;
  return removed;
end $$;

insert into svc_webhooks.versions (version) values (2) on conflict do nothing;
