-- A mail says that something failed, ended with a warning, had no success for too long, or is OK again. Rows of older versions
-- are about failures.
alter table alerts
  add column event text not null default 'FAILED',
  add constraint alerts_event_check check (event in ('FAILED', 'WARNING', 'NO_SUCCESS', 'RECOVERED'));

-- Since when a schedule is as it is: hours without a success are counted from here where there is no later success.
alter table runnables add column scheduled_since timestamptz(3) not null default now();

create function note_schedule_change() returns trigger language plpgsql as $$
begin
  new.scheduled_since := now();
  return new;
end $$;
create trigger runnables_scheduled_since before update on runnables for each row
  when ((old.disabled, old.run_trigger, old.cron_expression, old.continuously_updated, old.continuous_update_interval,
    old.full_refresh_interval) is distinct from (new.disabled, new.run_trigger, new.cron_expression,
    new.continuously_updated, new.continuous_update_interval, new.full_refresh_interval))
  execute function note_schedule_change();
