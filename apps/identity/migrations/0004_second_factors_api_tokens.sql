-- Whether a second factor is asked for. Kept with the user, because every sign-in and every list of users asks it.
alter table users add column two_factor_auth boolean not null default false;

-- How the user of a session proved who they are, in the words of RFC 8176. Until now there were only passwords; from here on
-- whoever does not say claims nothing.
alter table sessions add column amr text[] not null default '{pwd}';
alter table sessions alter column amr set default '{}';

create table second_factors (
  user_id bigint primary key,
  -- Sealed with the key ring of the deployment.
  seed text not null,
  created_at timestamptz(3) not null default now(),
  -- Null: the seed was shown, and nobody proved yet that they have it. It is not asked for.
  confirmed_at timestamptz(3),
  -- The newest time step whose code was used: no code of it or of an older one is taken again.
  last_step bigint not null default 0,
  constraint second_factors_user_fkey foreign key (user_id) references users (id) on delete cascade
);

-- Users hear of it.
alter table mails drop constraint mails_kind_check;
alter table mails add constraint mails_kind_check check
  (kind in ('INVITATION', 'PASSWORD_RESET', 'PASSWORD_CHANGED', 'EMAIL_CHANGED', 'SECOND_FACTOR_CHANGED'));

create table recovery_codes (
  user_id bigint not null,
  code_hash bytea not null,
  used_at timestamptz(3),
  constraint recovery_codes_pkey primary key (user_id, code_hash),
  constraint recovery_codes_user_fkey foreign key (user_id) references users (id) on delete cascade
);

-- Half a sign-in: the password was right, the code is still to come.
create table second_factor_tickets (
  ticket_hash bytea primary key,
  user_id bigint not null,
  expires_at timestamptz(3) not null,
  constraint second_factor_tickets_user_fkey foreign key (user_id) references users (id) on delete cascade
);
create index second_factor_tickets_user on second_factor_tickets (user_id);
create index second_factor_tickets_expiry on second_factor_tickets (expires_at);

create table api_tokens (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  user_id bigint not null,
  name text not null,
  -- What it may do, as far as its user still may.
  roles text[] not null,
  token_hash bytea not null,
  -- SHA-256 of the password's hash when it was made: another password, and it is worth nothing. Null: without password.
  password_mark bytea,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  last_used_at timestamptz(3),
  constraint api_tokens_uid_key unique (uid),
  constraint api_tokens_token_key unique (token_hash),
  constraint api_tokens_user_fkey foreign key (user_id) references users (id) on delete cascade
);
create index api_tokens_user on api_tokens (user_id);
create index api_tokens_expiry on api_tokens (expires_at);
