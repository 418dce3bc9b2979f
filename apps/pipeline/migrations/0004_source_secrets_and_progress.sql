-- Passwords and tokens of a pipeline's source, as the JSON of names and values, sealed. Null where there are none.
alter table data_pipelines add column source_secrets text;

-- Where a running load is, as its worker reckons: the share never goes down while an attempt lasts, though a load may
-- have to read its source anew; the rates are those of the last seconds, and estimated_end is null where nobody can tell.
alter table runs
  add column percentage double precision,
  add column rows_per_second double precision,
  add column bytes_per_second double precision,
  add column estimated_end timestamptz(3);
