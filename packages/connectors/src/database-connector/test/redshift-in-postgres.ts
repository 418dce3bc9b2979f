import type { Client } from 'pg'

/**
 * What the reading of Redshift needs of a server and PostgreSQL has under another name: types as types of their own, whose text is
 * Redshift's, and the views of its catalogue. Both products answer the other requests (sign-in, Describe, cursors) in the same way.
 */
export async function asRedshift(database: Client): Promise<void> {
  // The schema precedes PostgreSQL's catalogue in the search path of all new connections.
  await database.query(`
    create function public.version() returns text language sql immutable return 'PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.12103';
    create function public.getdate() returns timestamp language sql stable return now() at time zone 'UTC';
    do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`)
  const likes = { super: 'text', hllsketch: 'text', geometry: 'text', geography: 'text' }
  for (const [name, like] of Object.entries(likes))
    await database.query(`
      create type ${name};
      create function ${name}_in(cstring) returns ${name} language internal immutable strict as '${like}in';
      create function ${name}_out(${name}) returns cstring language internal immutable strict as '${like}out';
      create type ${name} (input = ${name}_in, output = ${name}_out, like = ${like})`)
  await database.query(`
    create type varbyte;
    create function varbyte_in(cstring) returns varbyte language internal immutable strict as 'textin';
    create function varbyte_out(varbyte) returns cstring language internal immutable strict as 'textout';
    create type varbyte (input = varbyte_in, output = varbyte_out, like = text);
    create function st_asewkt(geometry) returns text language sql immutable return 'SRID=4326;' || $1::text;
    create view svv_tables as
      select table_catalog::varchar(128), table_schema::varchar(128), table_name::varchar(128), table_type::varchar(128),
             ''::varchar(256) as remarks
      from information_schema.tables;
    create view svv_columns as
      select table_catalog::varchar(128), table_schema::varchar(128), table_name::varchar(128), column_name::varchar(128),
             ordinal_position::int, data_type::varchar(128)
      from information_schema.columns;
    grant select on svv_tables, svv_columns to public`)
}
