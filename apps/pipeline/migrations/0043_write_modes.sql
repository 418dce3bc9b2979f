-- The mode in which a load writes its rows, and the columns by which it merges them. Null means the key of the source.
alter table data_pipelines
  add column write_mode text not null default 'REPLACE',
  add column merge_key jsonb,
  add constraint data_pipelines_write_mode_check check (write_mode in ('REPLACE', 'APPEND', 'MERGE'));
