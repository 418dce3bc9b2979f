-- Loads whose rows are all in the warehouse and not published yet. A later attempt of the same run publishes them without reading the
-- source again. Maintenance removes the rows of ended runs.
create table staged_loads (
  run_id bigint not null,
  -- The attempt that wrote the rows.
  attempt integer not null,
  -- Of everything that decides which rows the source gives. With another digest the staged rows are not published.
  digest text not null,
  -- json, because jsonb cannot store NUL characters of labels.
  state json not null,
  constraint staged_loads_pkey primary key (run_id),
  constraint staged_loads_run_fkey foreign key (run_id) references runs (id) on delete cascade
);
