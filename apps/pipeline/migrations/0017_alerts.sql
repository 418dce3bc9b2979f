-- What an alert is about outlives a look at its run: how often people hear of the same thing is counted by it.
alter table alerts
  add column runnable_id bigint,
  -- Tried for a day, or refused for good: it is kept, with its last problem.
  add column given_up_at timestamptz(3),
  -- A run ends once, and is told of once.
  add constraint alerts_run_channel_recipient_key unique (run_id, channel, recipient);
drop index alerts_run;
drop index alerts_due;
create index alerts_due on alerts (try_after) where sent_at is null and given_up_at is null;
create index alerts_runnable on alerts (runnable_id, created_at);
