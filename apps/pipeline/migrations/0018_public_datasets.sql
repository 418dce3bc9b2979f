-- A public dataset's rows are loaded by a pipeline of the catalogue's own client, as an uploaded file is: with its runs, retries and
-- ledger. What is in the warehouse is asked there.
alter table public_datasets
  drop column table_name,
  drop column row_count,
  drop column size,
  add column pipeline_id bigint not null,
  add constraint public_datasets_pipeline_key unique (pipeline_id),
  add constraint public_datasets_pipeline_fkey foreign key (pipeline_id) references data_pipelines (id);

-- Who loads a dataset, before it is deleted.
create index data_pipelines_public_dataset on data_pipelines ((settings ->> 'key')) where type = 'PUBLIC_DATASET';
