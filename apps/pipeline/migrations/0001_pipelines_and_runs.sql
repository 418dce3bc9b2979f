-- Every named object: the bigint key stays inside, uid is the one that leaves. Clients and users live in the identity
-- service; here they are uids, checked there when they are written.

create table schemas (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  schema_name text not null,
  translations jsonb not null default '[]',
  description text,
  tags jsonb not null default '[]',
  permanent boolean not null,
  provider_schema text not null,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint schemas_uid_key unique (uid),
  constraint schemas_client_name_key unique (client, name),
  constraint schemas_client_schema_name_key unique (client, schema_name),
  constraint schemas_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);

create table data_pipelines (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  type text not null,
  description text,
  owner text,
  url text,
  reference text,
  source text,
  terms_of_use text,
  tags jsonb not null default '[]',
  disabled boolean not null,
  run_trigger text not null,
  cron_expression text,
  anonymous_metadata boolean not null default false,
  anonymous_data boolean not null default false,
  schema_id bigint not null,
  table_name text not null,
  transformation jsonb not null default '{"sqlStatements": []}',
  -- What only this type of pipeline has, without its secrets.
  settings jsonb not null default '{}',
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint data_pipelines_uid_key unique (uid),
  constraint data_pipelines_client_name_key unique (client, name),
  -- Two pipelines into one table would replace each other's rows.
  constraint data_pipelines_schema_table_key unique (schema_id, table_name),
  constraint data_pipelines_schema_fkey foreign key (schema_id) references schemas (id),
  constraint data_pipelines_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);

-- The file that a pipeline's next run loads. The bytes are in FILES_DIRECTORY under the uid. A replaced file's row goes
-- at once; its bytes are swept once no run that is under way was given them.
create table uploaded_files (
  id bigint generated always as identity primary key,
  uid uuid not null,
  pipeline_id bigint not null,
  name text not null,
  size bigint not null,
  sha256 text not null,
  uploaded_at timestamptz(3) not null default now(),
  uploaded_by uuid,
  constraint uploaded_files_uid_key unique (uid),
  constraint uploaded_files_pipeline_key unique (pipeline_id),
  constraint uploaded_files_pipeline_fkey foreign key (pipeline_id) references data_pipelines (id) on delete cascade
);

-- A run is ours, not the queue's: the queue carries only its uid. `attempt` is the fencing token: every change of a run
-- that is under way names the attempt, and one that changes no row has lost the run to another.
create table runs (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  pipeline_id bigint not null,
  trigger text not null,
  state text not null default 'QUEUED',
  attempt integer not null default 0,
  created_at timestamptz(3) not null default now(),
  created_by uuid,
  started_at timestamptz(3),
  heartbeat_at timestamptz(3),
  finished_at timestamptz(3),
  -- What is to be loaded, as it was when the run was asked for: { file: { uid, name, size }, … }.
  input jsonb not null default '{}',
  bytes_read bigint not null default 0,
  bytes_total bigint,
  rows_read bigint not null default 0,
  rows_rejected bigint not null default 0,
  rows_written bigint,
  bytes_written bigint,
  message text,
  error_code text,
  constraint runs_uid_key unique (uid),
  constraint runs_pipeline_fkey foreign key (pipeline_id) references data_pipelines (id) on delete cascade,
  constraint runs_state_check check (state in ('QUEUED', 'RUNNING', 'OK', 'WARNING', 'FAILED', 'CANCELLED')),
  constraint runs_trigger_check check (trigger in ('MANUAL', 'SCHEDULE', 'WORKFLOW'))
);
-- A second click on Run finds the first run instead of making another.
create unique index runs_one_under_way on runs (pipeline_id) where state in ('QUEUED', 'RUNNING');
create index runs_pipeline_newest on runs (pipeline_id, id desc);
create index runs_under_way on runs (state, id) where state in ('QUEUED', 'RUNNING');
create index runs_finished on runs (finished_at) where finished_at is not null;

create table run_logs (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  pipeline_id bigint not null,
  created_at timestamptz(3) not null default now(),
  level text not null,
  importance text not null,
  message text not null,
  constraint run_logs_run_fkey foreign key (run_id) references runs (id) on delete cascade,
  constraint run_logs_pipeline_fkey foreign key (pipeline_id) references data_pipelines (id) on delete cascade
);
create index run_logs_run on run_logs (run_id, id);
create index run_logs_pipeline_newest on run_logs (pipeline_id, id desc);

-- The first rows of a run that did not fit. How many there were in all is in runs.rows_rejected.
create table rejected_rows (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  attempt integer not null,
  line bigint not null,
  "column" text,
  reason text not null,
  raw text not null,
  constraint rejected_rows_run_fkey foreign key (run_id) references runs (id) on delete cascade
);
create index rejected_rows_run on rejected_rows (run_id, id);

-- Each client's own database in the warehouse, with the sealed passwords of its two LOGIN roles. `key` names both.
create table warehouses (
  client uuid primary key,
  key text not null,
  load_password text not null,
  read_password text not null,
  provisioned_at timestamptz(3),
  constraint warehouses_key_key unique (key)
);

create table audit (
  id bigint generated always as identity,
  at timestamptz(3) not null default now(),
  operation text not null,
  actor uuid,
  client uuid,
  object text,
  request_id text not null,
  address text not null,
  details jsonb not null,
  primary key (id, at)
) partition by range (at);
-- Rows go here until their month has a partition of its own.
create table audit_default partition of audit default;
create index audit_client_at on audit (client, at desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit rows are never changed';
end $$;
create trigger audit_append_only before update or delete on audit for each row execute function refuse_change();
