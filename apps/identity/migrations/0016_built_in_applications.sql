-- The console and the command line are applications of Sluice itself, for the users of all clients. Their rows have no client and
-- are only what their models and consents refer to: the source code defines the applications. See docs/decisions/0119.
do $$
declare
  taken text;
begin
  select sso_client_id into taken from sso_client_configs where sso_client_id_skeleton in ('console', 'cli') limit 1;
  if taken is not null then
    raise exception 'An application is registered with the id "%", which is now reserved. With the previous version, give the application another id or delete it, then run the migration again.', taken;
  end if;
end $$;

alter table sso_client_configs alter column client drop not null;
-- A registered application can have none of these ids, nor that of the sign-in itself. No other application can be without a client.
alter table sso_client_configs add constraint sso_client_configs_built_in_check
  check ((client is null) = (sso_client_id in ('console', 'cli')) and sso_client_id <> 'first-party');

insert into sso_client_configs (client, sso_client_id, sso_client_id_skeleton, client_name, redirect_uris, scopes, grant_types)
values
  (null, 'console', 'console', 'Sluice console', '{}', '{}', '{}'),
  (null, 'cli', 'cli', 'Sluice command line', '{}', '{}', '{}');
