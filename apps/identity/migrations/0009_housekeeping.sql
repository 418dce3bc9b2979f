-- Housekeeping looks for what is over, in small steps: each begins where an index says.
drop index sessions_expiry;
create index sessions_end on sessions (coalesce(ended_at, expires_at));
-- Refresh tokens are kept for a day after their use, to recognise a second one.
create index refresh_tokens_consumed on refresh_tokens (consumed_at) where consumed_at is not null;
-- When somebody signed in last is one entry of this, whatever the report on access is ordered by.
create index sessions_user_created on sessions (user_id, created_at);

-- Those of a client are ended in small steps, by id.
drop index sessions_client;
create index sessions_client on sessions (client, id);

-- Orders end in uid.
drop index sso_client_configs_client_name;
create index sso_client_configs_client_name on sso_client_configs (client, lower(client_name), uid);
drop index mails_client;
create index mails_client_created on mails (client, created_at, uid);
create index mails_client_subject on mails (client, lower(subject), uid);
drop index mails_created;
create index mails_created on mails (created_at, uid);
create index mails_subject on mails (lower(subject), uid);
