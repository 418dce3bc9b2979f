-- Logins of warehouses with which other programs read schemas. The warehouse stores the password, and this database does not.
create table warehouse_readers (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  -- The warehouse, as in schemas.provider_schema. All schemas of a reader are in it.
  provider_schema text not null,
  login text not null,
  -- Ids of schemas. A schema cannot be deleted without a change of this list, which its deletion makes in the same transaction.
  schema_ids jsonb not null,
  -- CIDR blocks; empty allows all networks.
  networks jsonb not null default '[]',
  expires_at timestamptz(3),
  -- True until the warehouse has this definition.
  pending boolean not null default true,
  last_used_at timestamptz(3),
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint warehouse_readers_uid_key unique (uid),
  constraint warehouse_readers_login_key unique (login),
  constraint warehouse_readers_client_name_key unique (client, name),
  constraint warehouse_readers_schema_ids_check check (jsonb_typeof(schema_ids) = 'array' and schema_ids <> '[]')
);
