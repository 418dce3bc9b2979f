-- Applications that sign users in here or act for themselves, and what oidc-provider keeps for them.

create table sso_client_configs (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  -- What OAuth calls client_id. Printable ASCII, so one byte a character: it fits an index.
  sso_client_id text not null,
  -- As usernames are compared: two that people cannot tell apart are one.
  sso_client_id_skeleton text not null,
  -- SHA-256 of at least 22 characters. Null: a public application, which can keep no secret.
  secret_hash bytea,
  client_name text not null,
  redirect_uris text[] not null,
  scopes text[] not null,
  grant_types text[] not null,
  -- What the application was issued for itself earlier is refused by every service.
  token_valid_after timestamptz(3) not null default now(),
  version bigint not null default 1,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  created_by uuid,
  updated_by uuid,
  constraint sso_client_configs_uid_key unique (uid),
  constraint sso_client_configs_sso_client_id_key unique (sso_client_id),
  -- Over all clients: an application that asks for a token names no client.
  constraint sso_client_configs_skeleton_key unique (sso_client_id_skeleton),
  constraint sso_client_configs_client_fkey foreign key (client) references clients (uid) on delete cascade,
  constraint sso_client_configs_sso_client_id_check check (length(sso_client_id) between 2 and 255)
);
create index sso_client_configs_client_name on sso_client_configs (client, lower(client_name), id);

-- To what a user said yes, so that they are asked again only for more.
create table application_consents (
  user_id bigint not null,
  sso_client_config_id bigint not null,
  scopes text[] not null,
  created_at timestamptz(3) not null default now(),
  updated_at timestamptz(3) not null default now(),
  constraint application_consents_pkey primary key (user_id, sso_client_config_id),
  constraint application_consents_user_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint application_consents_config_fkey foreign key (sso_client_config_id) references sso_client_configs (id) on delete cascade
);
create index application_consents_config on application_consents (sso_client_config_id);

-- Codes, tokens, browser sessions and half-done sign-ins. Their ids are what people and applications prove themselves
-- with, so only hashes are kept, and no payload repeats them. What belongs to a sign-in goes with its session.
create table oidc_models (
  model text not null,
  id_hash bytea not null,
  payload jsonb not null,
  grant_id text,
  session_id bigint,
  sso_client_config_id bigint,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  -- A used code or token stays until it expires, so that a second use is recognised as one.
  consumed_at timestamptz(3),
  constraint oidc_models_pkey primary key (model, id_hash),
  constraint oidc_models_session_fkey foreign key (session_id) references sessions (id) on delete cascade,
  constraint oidc_models_config_fkey foreign key (sso_client_config_id) references sso_client_configs (id) on delete cascade
);
create index oidc_models_grant on oidc_models (grant_id) where grant_id is not null;
create index oidc_models_session on oidc_models (session_id);
create index oidc_models_config on oidc_models (sso_client_config_id);
create index oidc_models_expiry on oidc_models (expires_at);

-- Since when a key is what it is: a NEXT is published before it signs, a PREVIOUS as long as what it signed may live.
alter table signing_keys add column state_since timestamptz(3) not null default now();
create unique index signing_keys_one_next on signing_keys (state) where state = 'NEXT';
