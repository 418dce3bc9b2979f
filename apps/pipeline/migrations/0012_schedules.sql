-- The scheduler leaves a due row alone until then: it could not be started, or waits for the end of the run before it.
alter table runnables add column not_before timestamptz(3);
