-- The tables that a run of several tables has begun to read, with their rows and state. Null for other runs.
alter table runs add column progress_tables jsonb;
