-- A delay is a number of seconds, which need not be whole.
alter table workflow_steps alter column delay_after type double precision;
alter table workflow_run_jobs alter column delay_after type double precision;
