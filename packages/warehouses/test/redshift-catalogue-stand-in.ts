import { connected, superuserUrl } from './scratch-warehouse.ts'

const made = new Map<string, Promise<void>>()

/** Views and tables of Redshift's catalogue, where everybody finds them. Once for each database. */
export function ensureCatalogue(database: string): Promise<void> {
  const one = made.get(database) ?? make(database).catch(() => void made.delete(database))
  made.set(database, one)
  return one
}

async function make(database: string): Promise<void> {
  if (!database.startsWith('sluice_')) return
  await using superuser = await connected(superuserUrl(database))
  await superuser.query(`
    set allow_system_table_mods = on;
    create or replace view pg_catalog.svv_table_info as
      select oid::int8 as table_id, greatest(1, pg_total_relation_size(oid) / 1048576)::int8 as size, reltuples::numeric(38,0) as tbl_rows
      from pg_class where relkind = 'r';
    create table if not exists pg_catalog.sys_load_error_detail (
      file_name varchar(256), line_number int8, column_name varchar(127), error_message varchar(256), start_time timestamp default now())`)
}
