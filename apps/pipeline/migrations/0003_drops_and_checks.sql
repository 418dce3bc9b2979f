-- Tables and schemas of the warehouse whose pipeline or schema was deleted here. The row is written in the transaction
-- of the deletion, and goes when the warehouse has dropped the thing. Whoever drops holds the row's lock, and so does a
-- load into the same table before it begins: while there is a row, nobody has loaded anew.
create table warehouse_drops (
  id bigint generated always as identity primary key,
  client uuid not null,
  schema_name text not null,
  -- Null for the schema itself.
  table_name text,
  created_at timestamptz(3) not null default now(),
  tries integer not null default 0,
  try_after timestamptz(3) not null default now()
);
create index warehouse_drops_target on warehouse_drops (client, schema_name, table_name);
create index warehouse_drops_due on warehouse_drops (try_after);

alter table schemas add constraint schemas_provider_schema_check check (
  provider_schema in ('WAREHOUSE_A', 'SQL_DATABASE_D', 'WAREHOUSE_B', 'WAREHOUSE_C', 'SQL_DATABASE_A', 'NA'));

alter table data_pipelines
  add constraint data_pipelines_type_check check (type in (
    'CLOUD_BLOB_STORAGE', 'SOURCE_SYSTEM_A', 'SOURCE_SYSTEM_B', 'CSV_UPLOAD', 'SOURCE_SYSTEM_C', 'FUNCTION', 'FHIR',
    'ONLINE_SPREADSHEET', 'SOURCE_SYSTEM_D', 'SOURCE_SYSTEM_E', 'SOURCE_SYSTEM_F', 'SQL_DATABASE_A', 'SQL_DATABASE_B',
    'SOURCE_SYSTEM_G', 'SOURCE_SYSTEM_H', 'SQL_DATABASE_C', 'PARQUET_UPLOAD', 'SQL_DATABASE_D', 'PUBLIC_DATASET',
    'WAREHOUSE_A', 'OBJECT_STORAGE_BUCKET', 'SOURCE_SYSTEM_I')),
  add constraint data_pipelines_run_trigger_check check (run_trigger in (
    'EVERY_15_MIN', 'EVERY_30_MIN', 'EVERY_HOUR', 'EVERY_3_HOURS', 'EVERY_DAY_0AM', 'EVERY_DAY_2AM',
    'EVERY_NIGHT_RANDOM', 'EVERY_WEEKDAY', 'EVERY_SATURDAY', 'EVERY_SATURDAY_NIGHT_RANDOM', 'EVERY_MONTH',
    'EVERY_MONTH_RANDOM', 'CUSTOM', 'NEVER'));

alter table run_logs
  add constraint run_logs_level_check check (level in ('DEBUG', 'INFO', 'WARN', 'ERROR')),
  add constraint run_logs_importance_check check (importance in ('LOW', 'MEDIUM', 'HIGH'));
