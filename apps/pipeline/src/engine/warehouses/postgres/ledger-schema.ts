import type { Client } from 'pg'

/**
 * The hidden schema: staging tables, partitions and the ledger. `load` may add to the ledger but not change it, so SQL
 * that users write for their loads cannot forge what was published. `read` has no USAGE: it reaches partitions only
 * through their parent tables. Runs as the owner, inside a transaction, any number of times.
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
    create index if not exists ledger_table_partition_ix on sluice.ledger_table (partition_name);
    create index if not exists ledger_table_name_ix on sluice.ledger_table (schema_name, table_name);
    grant usage, create on schema sluice to ${load};
    grant select, insert on sluice.ledger, sluice.ledger_table to ${load};
  `)
}
