-- The audit outlives those it speaks of, so it keeps the name that somebody had when they did it. And who looks at the
-- audit of a client sees what was done to it from outside: a super admin reaches into every client from their own.
alter table audit add column actor_name text;
-- Whose the object is, where that is another client than the one that was acted for.
alter table audit add column object_client uuid;

create function complete_audit() returns trigger language plpgsql as $$
declare
  uuid_pattern constant text := '^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$';
  about jsonb := coalesce(new.details -> 'after', new.details -> 'before');
  owner text := case when new.operation like 'clients.%' then new.object
    else coalesce(about #>> '{client,id}', about ->> 'client') end;
begin
  new.actor_name := coalesce(
    (select username from users where uid = new.actor),
    (select sso_client_id from sso_client_configs where uid = new.actor),
    -- Whoever deleted themself is gone when this is written.
    case when new.object = new.actor::text then new.details #>> '{before,username}' end);
  -- What says nothing of a client is about somebody or something that is still there. Sign-ins are about the actor.
  if owner is null and new.object <> new.actor::text and new.object ~ uuid_pattern and new.operation not like 'auth.%' then
    owner := coalesce(
      (select client from users where uid = new.object::uuid),
      (select client from user_groups where uid = new.object::uuid),
      (select client from sso_client_configs where uid = new.object::uuid));
  end if;
  if owner ~ uuid_pattern and owner is distinct from new.client::text then
    new.object_client := owner::uuid;
  end if;
  return new;
end $$;
create trigger audit_complete before insert on audit for each row execute function complete_audit();

alter table audit disable trigger audit_append_only;
update audit a set actor_name = u.username from users u where u.uid = a.actor;
alter table audit enable trigger audit_append_only;
create trigger audit_never_emptied before truncate on audit for each statement execute function refuse_change();

-- What reports ask: all of a client by time, who reached in from outside, what somebody did, what became of an object, and
-- everything by time for super admins. In the very order of the pages, or PostgreSQL would sort.
drop index audit_client_at;
create index audit_client_at on audit (client, at desc nulls last, id);
create index audit_object_client_at on audit (object_client, at desc nulls last, id) where object_client is not null;
create index audit_actor_at on audit (actor, at desc nulls last, id);
create index audit_object_at on audit (object, at desc nulls last, id);
create index audit_at on audit (at desc nulls last, id);

-- As far as it is no longer to be seen in `sessions`, which are forgotten.
alter table users add column last_signed_in_at timestamptz(3);
