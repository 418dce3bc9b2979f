import type { Client, ClientBase } from 'pg'
import { WarehouseProblem } from '../warehouse.ts'

/** Counted up with every change below: a worker that finds a lower number provisions that warehouse again. */
const version = 3

/** Days that the ledger keeps everything, whoever asks for less: a run may still be tried again meanwhile. */
const atLeast = 3

/**
 * The hidden schema: staging tables, partitions and the ledger. `load` may add to the ledger but not change it, so SQL
 * that users write for their loads cannot forge what was published; what is old and current no more it may have pruned.
 * `read` has no USAGE: it reaches partitions only through their parent tables. Runs as the owner, inside a transaction,
 * any number of times.
 */
export async function createLedger(client: Client, load: string): Promise<void> {
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
      add column if not exists profile jsonb,
      -- Counted while the table is locked, so the highest is the last; times are taken before.
      add column if not exists entered bigint generated always as identity;
    create index if not exists ledger_table_partition_ix on sluice.ledger_table (partition_name);
    create index if not exists ledger_table_name_ix on sluice.ledger_table (schema_name, table_name);
    create or replace function sluice.prune_ledger(days integer) returns bigint
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    declare
      oldest timestamptz := now() - make_interval(days => greatest(days, ${atLeast}));
      pruned bigint;
    begin
      delete from sluice.ledger_table t using sluice.ledger l
      where l.run = t.run and l.published_at < oldest and (
        not exists (
          select from pg_class c
          where c.relname = t.partition_name and c.relnamespace = 'sluice'::regnamespace and c.relispartition)
        -- Increments are merged into one partition again and again: the last of them says all.
        or exists (
          select from sluice.ledger_table u
          where u.partition_name = t.partition_name and u.entered > t.entered));
      delete from sluice.ledger l
      where l.published_at < oldest and not exists (select from sluice.ledger_table t where t.run = l.run);
      get diagnostics pruned = row_count;
      return pruned;
    end $$;
    revoke execute on function sluice.prune_ledger from public;
    grant execute on function sluice.prune_ledger to ${load};
    grant usage, create on schema sluice to ${load};
    grant select, insert on sluice.ledger, sluice.ledger_table to ${load};
    comment on schema sluice is '${version}';
  `)
}

export async function demandLedger(client: ClientBase): Promise<void> {
  const { rows } = await client.query<{ version: number }>(
    `select coalesce(obj_description(to_regnamespace('sluice'), 'pg_namespace'), '0')::int as version`,
  )
  if (rows[0]!.version < version)
    throw new WarehouseProblem('WAREHOUSE_OUTDATED', 'The warehouse is of an older version. Provision it again.')
}

export async function pruneLedger(client: ClientBase, days: number): Promise<number> {
  const { rows } = await client.query<{ pruned: string }>('select sluice.prune_ledger($1) as pruned', [days])
  return Number(rows[0]!.pruned)
}
