-- Hours that a session may be left alone before it ends, as the setting was when it was opened: like its expires_at.
alter table sessions add column idle_hours integer not null default 168;
alter table sessions add constraint sessions_idle_hours_check check (idle_hours between 1 and 8760);
