-- Whether loads into the tables of a schema measure a profile of their rows.
alter table schemas add column profile_tables boolean not null default true;

-- The profiles of loaded tables: values of their rows. The ledger in the warehouse names the profile of the rows that a table has, so a
-- profile becomes valid with the publication of the rows, and again with a restore.
create table table_profiles (
  id uuid not null default gen_random_uuid(),
  schema_id bigint not null,
  table_name text not null,
  -- The uid of the run, which is deleted earlier than the profile.
  run uuid not null,
  -- Set when the run has ended with a publication. Other profiles are deleted after the end of the run.
  published boolean not null default false,
  measured_at timestamptz(3) not null default now(),
  rows bigint not null,
  -- What lists of tables show of each column.
  statistics json not null,
  columns json not null,
  constraint table_profiles_pkey primary key (id),
  constraint table_profiles_schema_fkey foreign key (schema_id) references schemas (id) on delete cascade
);
create index table_profiles_table_idx on table_profiles (schema_id, table_name);
create index table_profiles_run_idx on table_profiles (run);
