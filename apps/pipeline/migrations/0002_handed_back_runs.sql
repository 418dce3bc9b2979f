-- How often a worker that was told to stop gave the run back unfinished. The attempt counts up all the same, for it is
-- the fencing token, but such an attempt does not use up one of the tries a run has.
alter table runs add column handed_back integer not null default 0;
