-- The IANA name of the zone that a client keeps time in: its schedules follow it. Null is UTC.
alter table clients add column time_zone text;
