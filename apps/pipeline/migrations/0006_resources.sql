create table variables (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  secured boolean not null,
  -- One of the two.
  value text,
  -- Sealed; of a secured variable.
  sealed_value text,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint variables_uid_key unique (uid),
  constraint variables_client_name_key unique (client, name),
  constraint variables_value_check check (case when secured then value is null else sealed_value is null end)
);

create table settings (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  key text not null,
  value text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint settings_client_key_key unique (client, key),
  constraint settings_key_check check (key in (
    'ALERT_EMAIL', 'DEFAULT_ACCESS_LEVEL', 'DATA_PIPELINE_ERROR_ACTION_STAGING_TABLES', 'RETAIN_TEMP_FILES', 'THEME'))
);

create table views (
  id bigint primary key default nextval('runnables_id_seq'),
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  description text,
  tags jsonb not null default '[]',
  schema_id bigint not null,
  view_name text not null,
  query text not null,
  materialized boolean not null,
  disabled boolean not null,
  run_trigger text not null,
  cron_expression text,
  continuously_updated boolean not null default false,
  continuous_update_interval integer,
  full_refresh_interval integer,
  anonymous_metadata boolean not null default false,
  anonymous_data boolean not null default false,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint views_uid_key unique (uid),
  constraint views_client_name_key unique (client, name),
  constraint views_schema_view_key unique (schema_id, view_name),
  constraint views_schema_fkey foreign key (schema_id) references schemas (id),
  constraint views_runnable_fkey foreign key (id) references runnables (id),
  constraint views_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);
create trigger views_runnable before insert or update on views
  for each row execute function keep_runnable('VIEW');
create trigger views_runnable_gone after delete on views for each row execute function drop_runnable();

create table destinations (
  id bigint primary key default nextval('runnables_id_seq'),
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  description text,
  type text not null,
  view_id bigint not null,
  disabled boolean not null,
  run_trigger text not null,
  cron_expression text,
  continuously_updated boolean not null default false,
  continuous_update_interval integer,
  full_refresh_interval integer,
  import_options jsonb not null default '{}',
  -- Where to and as whom, without secrets; those are sealed.
  settings jsonb not null default '{}',
  target_secrets text,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint destinations_uid_key unique (uid),
  constraint destinations_client_name_key unique (client, name),
  constraint destinations_view_fkey foreign key (view_id) references views (id),
  constraint destinations_runnable_fkey foreign key (id) references runnables (id),
  constraint destinations_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);
create index destinations_view on destinations (view_id);
create trigger destinations_runnable before insert or update on destinations
  for each row execute function keep_runnable('DESTINATION');
create trigger destinations_runnable_gone after delete on destinations
  for each row execute function drop_runnable();

create table data_quality_checks (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  short_name text not null,
  code text not null,
  labels jsonb not null default '[]',
  description text,
  query text not null,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint data_quality_checks_uid_key unique (uid),
  constraint data_quality_checks_client_name_key unique (client, name),
  constraint data_quality_checks_client_code_key unique (client, code),
  constraint data_quality_checks_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);

create table data_quality_check_groups (
  id bigint primary key default nextval('runnables_id_seq'),
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  short_name text not null,
  labels jsonb not null default '[]',
  description text,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint data_quality_check_groups_uid_key unique (uid),
  constraint data_quality_check_groups_client_name_key unique (client, name),
  constraint data_quality_check_groups_runnable_fkey foreign key (id) references runnables (id),
  constraint data_quality_check_groups_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);
create trigger data_quality_check_groups_runnable before insert or update on data_quality_check_groups
  for each row execute function keep_runnable('DATA_QUALITY_CHECK_GROUP');
create trigger data_quality_check_groups_runnable_gone after delete on data_quality_check_groups
  for each row execute function drop_runnable();

create table data_quality_group_checks (
  group_id bigint not null,
  check_id bigint not null,
  position integer not null,
  primary key (group_id, check_id),
  constraint data_quality_group_checks_group_fkey
    foreign key (group_id) references data_quality_check_groups (id) on delete cascade,
  constraint data_quality_group_checks_check_fkey foreign key (check_id) references data_quality_checks (id)
);
create index data_quality_group_checks_check on data_quality_group_checks (check_id);

-- What each check of a group's run found: violating rows, the first of them kept.
create table data_quality_results (
  id bigint generated always as identity primary key,
  run_id bigint not null,
  -- A check that was deleted since keeps its results.
  check_uid uuid not null,
  check_name text not null,
  position integer not null,
  status text not null,
  message text,
  data jsonb,
  completed_at timestamptz(3) not null default now(),
  constraint data_quality_results_run_fkey foreign key (run_id) references runs (id) on delete cascade,
  constraint data_quality_results_check_key unique (run_id, position),
  constraint data_quality_results_status_check check (status in ('OK', 'FAILED', 'ERROR'))
);

-- The group that loaded rows have to pass before they are published.
alter table data_pipelines
  add column quality_group_id bigint,
  add constraint data_pipelines_quality_group_fkey
    foreign key (quality_group_id) references data_quality_check_groups (id);
create index data_pipelines_quality_group on data_pipelines (quality_group_id) where quality_group_id is not null;

create table workflows (
  id bigint primary key default nextval('runnables_id_seq'),
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  description text,
  disabled boolean not null,
  run_trigger text not null,
  cron_expression text,
  continuously_updated boolean not null default false,
  continuous_update_interval integer,
  full_refresh_interval integer,
  error_strategy text not null,
  public_access text not null default 'NONE',
  user_access jsonb not null default '[]',
  user_group_access jsonb not null default '[]',
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint workflows_uid_key unique (uid),
  constraint workflows_client_name_key unique (client, name),
  constraint workflows_runnable_fkey foreign key (id) references runnables (id),
  constraint workflows_error_strategy_check check (error_strategy in ('STOP', 'CONTINUE')),
  constraint workflows_public_access_check check (public_access in ('NONE', 'READ', 'READ_WRITE'))
);
create trigger workflows_runnable before insert or update on workflows
  for each row execute function keep_runnable('WORKFLOW');
create trigger workflows_runnable_gone after delete on workflows for each row execute function drop_runnable();

create table workflow_steps (
  workflow_id bigint not null,
  step integer not null,
  execution_mode text not null,
  -- Seconds between the end of this step and the next.
  delay_after integer not null default 0,
  disabled boolean not null default false,
  primary key (workflow_id, step),
  constraint workflow_steps_workflow_fkey foreign key (workflow_id) references workflows (id) on delete cascade,
  constraint workflow_steps_execution_mode_check check (execution_mode in ('SERIAL', 'PARALLEL'))
);

create table workflow_jobs (
  workflow_id bigint not null,
  step integer not null,
  job integer not null,
  uid uuid not null default gen_random_uuid(),
  -- Not deleted while a workflow runs it.
  runnable_id bigint not null,
  primary key (workflow_id, step, job),
  constraint workflow_jobs_step_fkey
    foreign key (workflow_id, step) references workflow_steps (workflow_id, step) on delete cascade,
  constraint workflow_jobs_runnable_fkey foreign key (runnable_id) references runnables (id)
);
create index workflow_jobs_runnable on workflow_jobs (runnable_id);

-- The jobs of a workflow's run, as the workflow was when it began. What happens next follows from these rows alone.
create table workflow_run_jobs (
  run_id bigint not null,
  step integer not null,
  job integer not null,
  execution_mode text not null,
  delay_after integer not null,
  runnable_id bigint,
  name text not null,
  kind text not null,
  state text not null,
  child_run_id bigint,
  started_at timestamptz(3),
  finished_at timestamptz(3),
  primary key (run_id, step, job),
  constraint workflow_run_jobs_run_fkey foreign key (run_id) references runs (id) on delete cascade,
  constraint workflow_run_jobs_runnable_fkey foreign key (runnable_id) references runnables (id) on delete set null,
  constraint workflow_run_jobs_child_fkey foreign key (child_run_id) references runs (id) on delete set null,
  constraint workflow_run_jobs_state_check check (state in (
    'WAITING', 'RUNNING', 'OK', 'WARNING', 'FAILED', 'CANCELLED', 'SKIPPED'))
);
create index workflow_run_jobs_child on workflow_run_jobs (child_run_id) where child_run_id is not null;
create index workflow_run_jobs_runnable on workflow_run_jobs (runnable_id) where runnable_id is not null;

-- Tables that anybody's PUBLIC_DATASET pipelines may load from; their rows are in the catalogue database.
create table public_datasets (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  -- Whose it is to change.
  client uuid not null,
  key text not null,
  name text not null,
  description text,
  owner text,
  reference text,
  source text,
  terms_of_use text,
  tags jsonb not null default '[]',
  header_row boolean not null default true,
  table_name text not null,
  row_count bigint not null,
  size bigint not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint public_datasets_uid_key unique (uid),
  constraint public_datasets_key_key unique (key)
);

-- Letters and calls about runs that went wrong, written in the transaction of their end and sent afterwards.
create table alerts (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  run_id bigint,
  client uuid not null,
  channel text not null,
  recipient text not null,
  content jsonb not null,
  created_at timestamptz(3) not null default now(),
  tries integer not null default 0,
  try_after timestamptz(3) not null default now(),
  sent_at timestamptz(3),
  last_problem text,
  constraint alerts_run_fkey foreign key (run_id) references runs (id) on delete cascade,
  constraint alerts_channel_check check (channel in ('MAIL', 'WEBHOOK'))
);
create index alerts_due on alerts (try_after) where sent_at is null;
create index alerts_run on alerts (run_id);
