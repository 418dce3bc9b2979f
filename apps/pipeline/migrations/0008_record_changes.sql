-- Goes up with every statement that changes records of a kind and a client. While it stays, so do the totals of all lists of
-- them, whoever asks: they need not be counted again. Rows are never removed.
create table record_changes (
  client uuid not null,
  kind text not null,
  changes bigint not null,
  constraint record_changes_pkey primary key (client, kind)
) with (fillfactor = 50);

-- By statement, and always in the same order, so that no two wait for each other.
create function count_changes() returns trigger language plpgsql as $$
begin
  insert into record_changes as c
  select client, tg_argv[0], 1 from changed group by 1 order by 1
  on conflict on constraint record_changes_pkey do update set changes = c.changes + 1;
  return null;
end $$;

create trigger data_pipelines_inserted after insert on data_pipelines
  referencing new table as changed for each statement execute function count_changes('data_pipelines');
create trigger data_pipelines_updated after update on data_pipelines
  referencing new table as changed for each statement execute function count_changes('data_pipelines');
create trigger data_pipelines_deleted after delete on data_pipelines
  referencing old table as changed for each statement execute function count_changes('data_pipelines');

-- The lines that people filter by are few among the many.
create index run_logs_grave on run_logs (runnable_id, id desc) where level in ('WARN', 'ERROR');
