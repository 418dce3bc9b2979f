-- without a transaction
-- Lists of runs over all objects walk along one range for each status. A build that was interrupted leaves an invalid index.
drop index concurrently if exists runs_client_newest;
create index concurrently runs_client_newest on runs (client, state, created_at desc, id desc, trigger);
