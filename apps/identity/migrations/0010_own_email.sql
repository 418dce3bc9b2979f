-- Since when users have the address that they gave themselves. Null: an administrator gave it. For a day nobody can have a
-- new password mailed there, so that a session that somebody found open does not become one.
alter table users add column own_email_since timestamptz(3);
