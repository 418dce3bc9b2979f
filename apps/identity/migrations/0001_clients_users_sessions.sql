-- Every named object: the bigint key stays inside, uid is the one that leaves. A client is referred to by its uid, because
-- that is what every scope compares with; everything else by its key.

create table clients (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  name text not null,
  translations jsonb not null default '[]',
  code text not null,
  billing_code text not null,
  primary_contact jsonb not null default '{}',
  technical_contact jsonb not null default '{}',
  billing_contact jsonb not null default '{}',
  disabled boolean not null,
  domain text not null,
  manager_enabled boolean not null,
  routes_enabled boolean not null,
  pipelines_enabled boolean not null,
  enterprise_enabled boolean not null,
  route_notification_email_addresses text,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint clients_uid_key unique (uid),
  constraint clients_domain_check check (domain in ('REGULAR', 'PUBLIC_DATASET_CATALOG', 'DATA_MART_PROGRAM'))
);
-- "Acme" and "ACME" would be mistaken for each other by people, who choose clients by these.
create unique index clients_code_key on clients (lower(code));
create unique index clients_name_key on clients (lower(name));

create table users (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  username text not null,
  -- The username as it is compared: NFKC, case-folded, without invisible characters. Made by sign-in/username.ts.
  username_skeleton text not null,
  email text not null,
  -- argon2id, PHC string. Null: cannot sign in with a password.
  password_hash text,
  sso_auth boolean not null,
  sso_id text,
  roles text[] not null default '{}',
  status text not null,
  start_page text not null,
  file_access_instances text[] not null default '{}',
  analytics_platform_enabled boolean not null default false,
  -- Shown until the first session ends.
  service_intro boolean not null default true,
  -- A token that was issued earlier is refused by every service.
  token_valid_after timestamptz(3) not null default now(),
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint users_uid_key unique (uid),
  -- Over all clients: whoever signs in names no client.
  constraint users_username_key unique (username_skeleton),
  constraint users_client_sso_id_key unique (client, sso_id),
  constraint users_client_fkey foreign key (client) references clients (uid),
  constraint users_status_check check (status in ('INVITATION', 'ACTIVE', 'INACTIVE')),
  constraint users_start_page_check check (start_page in ('DEFAULT', 'MANAGER', 'INTEGRATION', 'DATA_PIPELINE')),
  constraint users_sso_without_password_check check (not sso_auth or password_hash is null)
);
create index users_client_name on users (client, lower(name), id);
-- "Is there another super admin?" is asked whenever one is changed.
create index users_super_admins on users (id) where 'ROLE_SUPER_ADMIN' = any (roles);

create table user_groups (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  name text not null,
  translations jsonb not null default '[]',
  code text not null,
  description text,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint user_groups_uid_key unique (uid),
  constraint user_groups_client_code_key unique (client, code),
  constraint user_groups_client_fkey foreign key (client) references clients (uid) on delete cascade
);

create table user_group_members (
  user_group_id bigint not null,
  user_id bigint not null,
  constraint user_group_members_pkey primary key (user_group_id, user_id),
  constraint user_group_members_user_group_fkey foreign key (user_group_id) references user_groups (id) on delete cascade,
  constraint user_group_members_user_fkey foreign key (user_id) references users (id) on delete cascade
);
create index user_group_members_user on user_group_members (user_id);

-- One sign-in, until it ends: the family of refresh tokens that followed from it.
create table sessions (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  user_id bigint not null,
  -- The client that the user acts for in this session.
  client uuid not null,
  created_at timestamptz(3) not null default now(),
  last_used_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  ended_at timestamptz(3),
  end_reason text,
  -- What the user could do when the newest access token was issued.
  roles_at_issue text[] not null,
  address text not null,
  address_prefix text not null,
  user_agent text not null,
  constraint sessions_uid_key unique (uid),
  constraint sessions_user_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint sessions_client_fkey foreign key (client) references clients (uid) on delete cascade,
  constraint sessions_end_check check ((ended_at is null) = (end_reason is null))
);
create index sessions_user on sessions (user_id, address_prefix);
create index sessions_client on sessions (client);
create index sessions_expiry on sessions (expires_at);

-- Only the hash is kept: who reads this table cannot use what is in it. A consumed token stays until its session goes,
-- so that a second use is recognised as one.
create table refresh_tokens (
  token_hash bytea primary key,
  session_id bigint not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  consumed_at timestamptz(3),
  constraint refresh_tokens_session_fkey foreign key (session_id) references sessions (id) on delete cascade
);
create index refresh_tokens_session on refresh_tokens (session_id);

create table signing_keys (
  kid text primary key,
  public_jwk jsonb not null,
  -- Sealed with the key ring of the deployment.
  private_key text not null,
  state text not null,
  created_at timestamptz(3) not null default now(),
  constraint signing_keys_state_check check (state in ('NEXT', 'CURRENT', 'PREVIOUS'))
);
create unique index signing_keys_one_current on signing_keys (state) where state = 'CURRENT';

-- Tries that did not succeed, by account (a hash of the username, known or not) and by the network they came from.
-- Worthless after a crash, so not written to the log.
create unlogged table sign_in_attempts (
  key text primary key,
  failures integer not null,
  last_at timestamptz(3) not null,
  blocked_until timestamptz(3) not null
);
create index sign_in_attempts_last on sign_in_attempts (last_at);

create table audit (
  id bigint generated always as identity,
  at timestamptz(3) not null default now(),
  operation text not null,
  actor uuid,
  client uuid,
  object text,
  request_id text not null,
  address text not null,
  details jsonb not null,
  primary key (id, at)
) partition by range (at);
-- Rows go here until their month has a partition of its own.
create table audit_default partition of audit default;
create index audit_client_at on audit (client, at desc);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'audit rows are never changed';
end $$;
create trigger audit_append_only before update or delete on audit for each row execute function refuse_change();
