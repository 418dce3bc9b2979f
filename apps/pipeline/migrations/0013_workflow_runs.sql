-- When the step that comes next may begin, for whoever looks what is due. It follows from the other columns, and is only
-- written down.
alter table workflow_run_jobs add column due_at timestamptz(3);
create index workflow_run_jobs_due on workflow_run_jobs (due_at) where state = 'WAITING' and due_at is not null;
create index workflow_run_jobs_running on workflow_run_jobs (run_id) where state = 'RUNNING';
