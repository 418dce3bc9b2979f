-- Who signs the users of a client in, and which person there is which user here.

create table sso_provider_configs (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  provider text not null,
  -- What we are called there. Null: not registered yet, so nobody signs in.
  client_id text,
  -- Sealed. Null: we are a public client there, with PKCE only.
  client_secret text,
  client_domain text not null,
  mapping_claim text not null,
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint sso_provider_configs_uid_key unique (uid),
  -- Who signs in names a client, and that must be enough to know where to.
  constraint sso_provider_configs_client_key unique (client),
  constraint sso_provider_configs_client_fkey foreign key (client) references clients (uid) on delete cascade,
  constraint sso_provider_configs_provider_check check (provider in ('IDP_VENDOR', 'GENERIC'))
);

-- The person at a provider that a user turned out to be, at their first sign-in. The mapping claim may be one that people
-- can change or that is given to somebody else later; issuer and subject are not.
create table sso_identities (
  config_id bigint not null,
  user_id bigint not null,
  issuer text not null,
  subject text not null,
  created_at timestamptz(3) not null default now(),
  constraint sso_identities_pkey primary key (config_id, user_id),
  constraint sso_identities_person_key unique (config_id, issuer, subject),
  constraint sso_identities_config_fkey foreign key (config_id) references sso_provider_configs (id) on delete cascade,
  constraint sso_identities_user_fkey foreign key (user_id) references users (id) on delete cascade
);
create index sso_identities_user on sso_identities (user_id);

-- An administrator who changes how a user is found says that it may be another person from now on. Here, because more
-- than one place writes users.
create function forget_sso_identity() returns trigger language plpgsql as $$
begin
  delete from sso_identities where user_id = new.id;
  return null;
end $$;
create trigger users_forget_sso_identity after update of sso_id, sso_auth on users for each row
  when (old.sso_id is distinct from new.sso_id or old.sso_auth is distinct from new.sso_auth)
  execute function forget_sso_identity();

-- A sign-in under way is kept by the browser, sealed. What came back is noted here, so that it comes back once.
create table sso_used_states (
  state_hash bytea primary key,
  expires_at timestamptz(3) not null
);
create index sso_used_states_expiry on sso_used_states (expires_at);

-- Hands a session that was opened at a provider over to the page that the sign-in began on.
create table sso_tickets (
  ticket_hash bytea primary key,
  session_id bigint not null,
  interaction text not null,
  expires_at timestamptz(3) not null,
  constraint sso_tickets_session_fkey foreign key (session_id) references sessions (id) on delete cascade
);
create index sso_tickets_session on sso_tickets (session_id);
create index sso_tickets_expiry on sso_tickets (expires_at);
