-- What a run does. DRY_RUN: everything that comes before a publication, and publishes nothing. RESTORE: publishes what the last publication
-- replaced.
alter table runs
  add column action text not null default 'RUN',
  add constraint runs_action_check check (action in ('RUN', 'DRY_RUN', 'RESTORE')),
  -- What a dry run would have published: [{ schema, table, rowsBefore, rowsAfter, changes }].
  add column planned_tables jsonb;
