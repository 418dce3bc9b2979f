-- What users write about tables and columns in the warehouse. It belongs to names, so that it stays when a table is loaded again.
create table table_descriptions (
  schema_id bigint not null,
  table_name text not null,
  -- Empty for the description of the table itself.
  column_name text not null,
  description text not null,
  updated_at timestamptz(3) not null default now(),
  updated_by uuid,
  constraint table_descriptions_pkey primary key (schema_id, table_name, column_name),
  constraint table_descriptions_schema_fkey foreign key (schema_id) references schemas (id) on delete cascade
);
