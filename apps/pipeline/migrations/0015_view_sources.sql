-- What each view reads, by its names in the warehouse: as it was found there when the view was made.
create table view_sources (
  view_id bigint not null,
  schema_name text not null,
  relation_name text not null,
  primary key (view_id, schema_name, relation_name),
  constraint view_sources_view_fkey foreign key (view_id) references views (id) on delete cascade
);
create index view_sources_relation on view_sources (schema_name, relation_name);

-- When a materialised view began to be filled the last time; a plain one was made then.
alter table views add column filled_at timestamptz(3);
