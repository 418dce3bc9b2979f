-- Everything that can be run and scheduled: data pipelines, views, destinations, check groups and workflows. Each has a
-- row here under the id it has in its own table, kept by a trigger, so that runs, schedules and workflows know one thing.
create sequence runnables_id_seq;

create table runnables (
  id bigint primary key,
  uid uuid not null,
  client uuid not null,
  kind text not null,
  name text not null,
  disabled boolean not null,
  run_trigger text not null,
  cron_expression text,
  continuously_updated boolean not null,
  -- Minutes, and hours.
  continuous_update_interval integer,
  full_refresh_interval integer,
  -- False until the scheduler has reckoned the next times, with the zone that the client is in.
  planned boolean not null default false,
  zone text,
  next_run_at timestamptz(3),
  next_full_run_at timestamptz(3),
  constraint runnables_uid_key unique (uid),
  constraint runnables_kind_check check (kind in (
    'DATA_PIPELINE', 'VIEW', 'DESTINATION', 'DATA_QUALITY_CHECK_GROUP', 'WORKFLOW'))
);
create index runnables_due on runnables (next_run_at) where next_run_at is not null;
create index runnables_unplanned on runnables (id) where not planned;
create index runnables_client on runnables (client);

-- A changed schedule is planned anew. Tables without a schedule of their own run when they are asked to.
create function keep_runnable() returns trigger language plpgsql as $$
declare
  given jsonb := to_jsonb(new);
begin
  insert into runnables as r (id, uid, client, kind, name, disabled, run_trigger, cron_expression,
    continuously_updated, continuous_update_interval, full_refresh_interval)
  values (new.id, new.uid, new.client, tg_argv[0], new.name, coalesce((given->>'disabled')::boolean, false),
    coalesce(given->>'run_trigger', 'NEVER'), given->>'cron_expression',
    coalesce((given->>'continuously_updated')::boolean, false),
    (given->>'continuous_update_interval')::integer, (given->>'full_refresh_interval')::integer)
  on conflict (id) do update set
    name = excluded.name,
    planned = r.planned and (r.disabled, r.run_trigger, r.cron_expression, r.continuously_updated,
      r.continuous_update_interval, r.full_refresh_interval) is not distinct from (excluded.disabled,
      excluded.run_trigger, excluded.cron_expression, excluded.continuously_updated,
      excluded.continuous_update_interval, excluded.full_refresh_interval),
    disabled = excluded.disabled, run_trigger = excluded.run_trigger, cron_expression = excluded.cron_expression,
    continuously_updated = excluded.continuously_updated,
    continuous_update_interval = excluded.continuous_update_interval,
    full_refresh_interval = excluded.full_refresh_interval;
  return new;
end $$;

create function drop_runnable() returns trigger language plpgsql as $$
begin
  delete from runnables where id = old.id;
  return old;
end $$;

alter table data_pipelines
  alter column id drop identity,
  add column continuously_updated boolean not null default false,
  add column continuous_update_interval integer,
  add column full_refresh_interval integer;
alter table data_pipelines alter column id set default nextval('runnables_id_seq');
select setval('runnables_id_seq', (select coalesce(max(id), 0) + 1 from data_pipelines), false);
insert into runnables (id, uid, client, kind, name, disabled, run_trigger, cron_expression, continuously_updated)
  select id, uid, client, 'DATA_PIPELINE', name, disabled, run_trigger, cron_expression, false from data_pipelines;
alter table data_pipelines add constraint data_pipelines_runnable_fkey foreign key (id) references runnables (id);
create trigger data_pipelines_runnable before insert or update on data_pipelines
  for each row execute function keep_runnable('DATA_PIPELINE');
create trigger data_pipelines_runnable_gone after delete on data_pipelines
  for each row execute function drop_runnable();

alter table runs drop constraint runs_pipeline_fkey;
alter table runs rename column pipeline_id to runnable_id;
alter table runs
  add constraint runs_runnable_fkey foreign key (runnable_id) references runnables (id) on delete cascade,
  -- FULL replaces; INCREMENTAL goes on where the last run ended, where the source can.
  add column mode text not null default 'FULL',
  -- The tick that it stands for.
  add column scheduled_for timestamptz(3),
  -- The run of the workflow that asked for it.
  add column workflow_run_id bigint,
  add constraint runs_mode_check check (mode in ('FULL', 'INCREMENTAL')),
  add constraint runs_workflow_run_fkey foreign key (workflow_run_id) references runs (id) on delete set null;
create index runs_workflow_run on runs (workflow_run_id) where workflow_run_id is not null;
alter index runs_pipeline_newest rename to runs_runnable_newest;

-- Logs go by months: to forget them is to drop their partitions.
alter table run_logs rename to run_logs_before;
alter table run_logs_before rename constraint run_logs_run_fkey to run_logs_before_run_fkey;
alter index run_logs_run rename to run_logs_before_run;
alter index run_logs_pipeline_newest rename to run_logs_before_newest;
create table run_logs (
  id bigint generated always as identity,
  run_id bigint not null,
  runnable_id bigint not null,
  created_at timestamptz(3) not null default now(),
  level text not null,
  importance text not null,
  message text not null,
  primary key (id, created_at),
  constraint run_logs_run_fkey foreign key (run_id) references runs (id) on delete cascade,
  constraint run_logs_level_check check (level in ('DEBUG', 'INFO', 'WARN', 'ERROR')),
  constraint run_logs_importance_check check (importance in ('LOW', 'MEDIUM', 'HIGH'))
) partition by range (created_at);
create index run_logs_run on run_logs (run_id, id);
create index run_logs_runnable_newest on run_logs (runnable_id, id desc);
-- Lines go here until their month has a partition of its own.
create table run_logs_default partition of run_logs default;
insert into run_logs (id, run_id, runnable_id, created_at, level, importance, message)
  overriding system value
  select id, run_id, pipeline_id, created_at, level, importance, message from run_logs_before;
select setval(pg_get_serial_sequence('run_logs', 'id'), (select coalesce(max(id), 0) + 1 from run_logs), false);
drop table run_logs_before;
