import { createHash } from 'node:crypto'
import type { Client, ClientBase } from 'pg'
import { WarehouseProblem } from '../../warehouse.ts'

/**
 * The version of the ledger. Increase it with every change of `createLedger`: a worker that finds a lower version
 * provisions that warehouse again.
 */
const ledgerVersion = 8

/** The columns that `sluice.enter_table` takes after the key and the run. */
export const tableColumns = [
  { name: 'schema_name', type: 'text' },
  { name: 'table_name', type: 'text' },
  { name: 'partition_name', type: 'text' },
  { name: 'rows', type: 'bigint' },
  { name: 'bytes', type: 'bigint' },
  { name: 'fed_columns', type: 'text[]' },
  { name: 'changes', type: 'jsonb' },
  { name: 'mode', type: 'text' },
  { name: 'table_rows', type: 'bigint' },
  { name: 'cursor', type: 'jsonb' },
  { name: 'profile', type: 'jsonb' },
  { name: 'feed', type: 'jsonb' },
  { name: 'details', type: 'jsonb' },
]

/**
 * The parameter types of `sluice.enter_table`. A call has exactly these types; otherwise it could resolve to a user's
 * overload.
 */
const tableParameters = ['text', 'text', ...tableColumns.map(({ type }) => type)]

/**
 * The minimum number of days for which the ledger (Sluice's table of loads) keeps every entry, even if the caller
 * requests fewer. A run may be retried within that time.
 */
const minimumDays = 3

/**
 * Creates the hidden schema with staging tables, partitions and the ledger (Sluice's own table of loads). Runs as the
 * owner within a transaction. Idempotent.
 *
 * Users' SQL for loads also runs as role `load`, and must not forge publications. Therefore `load` can write to the
 * ledger only through functions that require a key; a digest of the key is stored where `load` cannot read it. `load`
 * may call the function that deletes expired entries. `read` has no USAGE on the schema, so it reads partitions only
 * through their parent tables.
 */
export async function createLedger(client: Client, load: string, key: string): Promise<void> {
  await client.query(`
    create schema if not exists sluice;
    create table if not exists sluice.ledger (
      run text constraint ledger_pk primary key,
      attempt integer not null,
      published_at timestamptz not null default clock_timestamp()
    );
    create table if not exists sluice.ledger_table (
      run text not null constraint ledger_table_run_fk references sluice.ledger,
      schema_name text not null,
      table_name text not null,
      partition_name text not null,
      rows bigint not null,
      bytes bigint not null,
      fed_columns text[] not null,
      changes jsonb not null,
      constraint ledger_table_pk primary key (run, schema_name, table_name)
    );
    alter table sluice.ledger_table
      add column if not exists mode text not null default 'REPLACE',
      -- Rows of the whole table after this publication; absent in rows of older versions, where it is "rows".
      add column if not exists table_rows bigint,
      add column if not exists cursor jsonb,
      -- Names a profile of the rows; older versions stored values of the rows here.
      add column if not exists profile jsonb,
      -- The source's columns, for the next load; absent in rows of older versions.
      add column if not exists feed jsonb,
      -- Further counts of rows; absent in rows of older versions.
      add column if not exists details jsonb,
      -- The order of the entries. It is assigned while the table is locked, but published_at is assigned before.
      add column if not exists entered bigint generated always as identity;
    update sluice.ledger_table set profile = null where jsonb_typeof(profile) = 'array';
    create index if not exists ledger_table_partition_ix on sluice.ledger_table (partition_name);
    create index if not exists ledger_table_name_ix on sluice.ledger_table (schema_name, table_name);
    -- The tables that a run replaced and that are kept for a restore. The partition is null for a new table.
    create table if not exists sluice.kept_table (
      run text not null,
      schema_name text not null,
      table_name text not null,
      partition_name text,
      kept_at timestamptz not null default clock_timestamp(),
      constraint kept_table_pk primary key (schema_name, table_name)
    );
    create index if not exists kept_table_run_ix on sluice.kept_table (run);
    create or replace function sluice.prune_ledger(days integer) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      oldest timestamptz := now() - make_interval(days => greatest(days, ${minimumDays}));
      pruned bigint;
    begin
      delete from sluice.ledger_table t using sluice.ledger l
      where l.run = t.run and l.published_at < oldest and (
        not exists (
          select from pg_class c
          where c.relname = t.partition_name and c.relnamespace = 'sluice'::regnamespace and c.relispartition)
        and not exists (select from sluice.kept_table k where k.partition_name = t.partition_name)
        -- Many increments are merged into one partition. Only the newest entry of a partition is needed.
        or exists (
          select from sluice.ledger_table u
          where u.partition_name = t.partition_name and u.entered > t.entered));
      delete from sluice.ledger l
      where l.published_at < oldest and not exists (select from sluice.ledger_table t where t.run = l.run);
      get diagnostics pruned = row_count;
      return pruned;
    end $$;
    create table if not exists sluice.ledger_key (digest bytea not null);
    delete from sluice.ledger_key;
    insert into sluice.ledger_key values ('\\x${createHash('sha256').update(key).digest('hex')}');
    create or replace function sluice.demand_key(key text) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      if not exists (select from sluice.ledger_key k where k.digest = sha256(convert_to(key, 'UTF8'))) then
        raise exception 'the ledger takes entries from Sluice only' using errcode = 'invalid_authorization_specification';
      end if;
    end $$;
    -- Returns null if the run has an entry already.
    create or replace function sluice.enter_run(key text, run text, attempt integer) returns timestamptz
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      entered timestamptz;
    begin
      perform sluice.demand_key($1);
      insert into sluice.ledger as l (run, attempt) values ($2, $3)
      on conflict on constraint ledger_pk do nothing returning l.published_at into entered;
      return entered;
    end $$;
    create or replace function sluice.enter_table(${tableParameters.join(', ')}) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      perform sluice.demand_key($1);
      insert into sluice.ledger_table (run, schema_name, table_name, partition_name, rows, bytes, fed_columns, changes,
        mode, table_rows, cursor, profile, feed, details)
      values ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15);
    end $$;
    -- Removes the tables that a run replaced from the list of kept tables, and returns them.
    create or replace function sluice.forget_kept(key text, run text) returns setof sluice.kept_table
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      perform sluice.demand_key($1);
      return query delete from sluice.kept_table k where k.run = $2 returning k.*;
    end $$;
    create or replace function sluice.keep_table(key text, run text, schema_name text, table_name text, partition_name text)
    returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin
      perform sluice.demand_key($1);
      insert into sluice.kept_table (run, schema_name, table_name, partition_name) values ($2, $3, $4, $5);
    end $$;
    revoke execute on function sluice.prune_ledger(integer), sluice.forget_kept(text, text),
      sluice.keep_table(text, text, text, text, text), sluice.demand_key(text),
      sluice.enter_run(text, text, integer), sluice.enter_table(${tableParameters.join(', ')}) from public;
    grant execute on function sluice.prune_ledger(integer), sluice.forget_kept(text, text),
      sluice.keep_table(text, text, text, text, text), sluice.enter_run(text, text, integer),
      sluice.enter_table(${tableParameters.join(', ')}) to ${load};
    grant usage, create on schema sluice to ${load};
    grant select on sluice.ledger, sluice.ledger_table, sluice.kept_table to ${load};
    revoke insert on sluice.ledger, sluice.ledger_table from ${load};
    comment on schema sluice is '${ledgerVersion}';
  `)
}

/** Selects the version of the ledger in the warehouse, which is the comment of its schema. */
export const selectLedgerVersion = `select coalesce(obj_description(to_regnamespace('sluice'), 'pg_namespace'), '0')::int`

/** Throws WAREHOUSE_OUTDATED if the ledger has an older version. */
export function assertLedgerCurrent(version: number): void {
  if (version < ledgerVersion)
    throw new WarehouseProblem(
      'WAREHOUSE_OUTDATED',
      'The warehouse was provisioned by an older version of Sluice. Provision it again.',
    )
}

/** Deletes ledger entries that are older than this and that no table needs. Returns the number of deleted runs. */
export async function pruneLedger(client: ClientBase, days: number): Promise<number> {
  const { rows } = await client.query<{ pruned: string }>('select sluice.prune_ledger($1::integer) as pruned', [days])
  return Number(rows[0]!.pruned)
}
