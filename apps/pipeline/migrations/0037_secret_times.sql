-- When each stored secret was last sent: an object of times (or null if not known) by the names of the secrets. The column is null in rows
-- that were written before it existed.
alter table data_pipelines add column secret_times jsonb;
alter table destinations add column secret_times jsonb;
alter table variables add column secret_times jsonb;

-- The name that the actor had when the row was written, because users can be renamed and deleted. Older rows have none.
alter table audit add column actor_name text;
