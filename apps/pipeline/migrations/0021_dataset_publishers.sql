-- The clients that published datasets when it took no domain. The identity service gives them the domain PUBLIC_DATASET_CATALOG, asked by
-- maintenance, and then they leave this table. Until then they go on as before.
create table dataset_publishers (
  client uuid not null,
  constraint dataset_publishers_pkey primary key (client)
);
insert into dataset_publishers (client) select distinct client from public_datasets;
