-- A client may have a million users, and there may be ten thousand clients. What people ask of lists is served by indexes,
-- and totals are kept rather than counted: docs/decisions/0013-search-at-scale.md.

create extension if not exists pg_trgm;

-- Whatever the free text of a search looks at, a line each, so that no piece of text spans two of them. pg_c_utf8 lowers
-- letter by letter and the same on every machine, so neither a move nor an update of the system breaks the index.
alter table users add column search_text text collate pg_c_utf8 not null generated always as
  (lower((uid::text || e'\n' || username || e'\n' || email || e'\n' || name) collate pg_c_utf8)) stored;
alter table user_groups add column search_text text collate pg_c_utf8 not null generated always as
  (lower((uid::text || e'\n' || code || e'\n' || name) collate pg_c_utf8)) stored;
alter table clients add column search_text text collate pg_c_utf8 not null generated always as
  (lower((uid::text || e'\n' || code || e'\n' || name) collate pg_c_utf8)) stored;
-- How rare a piece of text is decides between the index of pieces and a walk along the order: a thousand samples tell one
-- in a thousand from none.
alter table users alter column search_text set statistics 1000;

-- Without the client in front: PostgreSQL would go through all of a large client's entries to intersect them, and walks the
-- few users of a small one instead. Without fastupdate, because searches would have to read the list of what is still to be
-- sorted in.
create index users_search on users using gin (search_text gin_trgm_ops) with (fastupdate = off);
create index users_roles on users using gin (roles) with (fastupdate = off);
create index user_groups_search on user_groups using gin (search_text gin_trgm_ops) with (fastupdate = off);
create index clients_search on clients using gin (search_text gin_trgm_ops) with (fastupdate = off);

-- Orders, each ending as pages do, for one client and for those who see all of them. Read backwards, they serve the
-- other direction.
drop index users_client_name;
create index users_client_name on users (client, lower(name), uid);
create index users_client_name_exact on users (client, name, uid);
create index users_client_username on users (client, username, uid);
create index users_client_email on users (client, email, uid);
create index users_client_created on users (client, created_at, uid);
create index users_client_updated on users (client, updated_at, uid);
create index users_client_status on users (client, status, uid);
create index users_client_uid on users (client, uid);
create index users_name on users (lower(name), uid);
create index users_username on users (username, uid);
create index users_created on users (created_at, uid);
-- The states that few are in, in the order that lists have unless another is asked for.
create index users_client_not_active on users (client, status, lower(name), uid) where status <> 'ACTIVE';
create index user_groups_client_name on user_groups (client, lower(name), uid);

-- How many users there are of each kind, so that the totals of lists need not be counted.
create table user_tallies (
  client uuid not null,
  status text not null,
  start_page text not null,
  sso_auth boolean not null,
  analytics_platform_enabled boolean not null,
  total bigint not null,
  -- Up by one with every statement that changes what can be searched of these users. While the sum over a client stays, so
  -- does every total that was counted in it. Rows are therefore never removed, not even with their client.
  changes bigint not null,
  constraint user_tallies_pkey primary key (client, status, start_page, sso_auth, analytics_platform_enabled)
) with (fillfactor = 50);

insert into user_tallies
select client, status, start_page, sso_auth, analytics_platform_enabled, count(*), 1 from users group by 1, 2, 3, 4, 5;

-- By statement, so that a million rows are tallied at once; always in the same order, so that no two wait for each other.
create function tally_users() returns trigger language plpgsql as $$
declare
  -- Nobody searches by these, and they change when people sign in: that must not wait for a colleague who does.
  unsearched constant text[] :=
    '{password_hash,token_valid_after,service_intro,version,last_signed_in_at}';
begin
  if tg_op = 'INSERT' then
    insert into user_tallies as t
    select client, status, start_page, sso_auth, analytics_platform_enabled, count(*), 1
    from added group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict on constraint user_tallies_pkey do update
      set total = t.total + excluded.total, changes = t.changes + 1;
  elsif tg_op = 'DELETE' then
    insert into user_tallies as t
    select client, status, start_page, sso_auth, analytics_platform_enabled, -count(*), 1
    from removed group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict on constraint user_tallies_pkey do update
      set total = t.total + excluded.total, changes = t.changes + 1;
  else
    insert into user_tallies as t
    with moved as (
      select o.id from removed o join added n using (id)
      where to_jsonb(o) - unsearched is distinct from to_jsonb(n) - unsearched
    )
    select client, status, start_page, sso_auth, analytics_platform_enabled, sum(side), 1
    from (
      select -1 as side, client, status, start_page, sso_auth, analytics_platform_enabled from removed where id in (table moved)
      union all
      select 1, client, status, start_page, sso_auth, analytics_platform_enabled from added where id in (table moved)
    ) as sides
    group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
    on conflict on constraint user_tallies_pkey do update
      set total = t.total + excluded.total, changes = t.changes + 1;
  end if;
  return null;
end $$;
create trigger users_tally_insert after insert on users
  referencing new table as added for each statement execute function tally_users();
create trigger users_tally_delete after delete on users
  referencing old table as removed for each statement execute function tally_users();
create trigger users_tally_update after update on users
  referencing old table as removed new table as added for each statement execute function tally_users();
-- Would pass by the tallies.
create function refuse_truncate() returns trigger language plpgsql as $$
begin
  raise exception 'users are deleted, not truncated: their tallies would stay';
end $$;
create trigger users_never_truncated before truncate on users for each statement execute function refuse_truncate();
