-- What a load does where the columns of the source have changed. What the last load fed is kept in the warehouse's own ledger, in the
-- transaction that publishes the rows.
alter table data_pipelines
  add column schema_changes text not null default 'EVOLVE',
  add constraint data_pipelines_schema_changes_check check (schema_changes in ('EVOLVE', 'IGNORE_NEW', 'FAIL', 'REPLACE'));
