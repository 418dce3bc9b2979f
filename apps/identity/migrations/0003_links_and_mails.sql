-- Links that let somebody in without a password, once: to accept an invitation, or to choose a new password. Only the hash
-- of what is in the link is kept. A new one takes the place of the old one, so there is one of a kind for a user.
create table links (
  user_id bigint not null,
  purpose text not null,
  token_hash bytea not null,
  -- Where it was sent: it is worthless once the user has another address.
  email text not null,
  created_at timestamptz(3) not null default now(),
  expires_at timestamptz(3) not null,
  constraint links_pkey primary key (user_id, purpose),
  constraint links_token_hash_key unique (token_hash),
  constraint links_user_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint links_purpose_check check (purpose in ('INVITATION', 'PASSWORD_RESET'))
);
create index links_expiry on links (expires_at);

-- Mails are written in the transaction of the change that they speak of, and sent afterwards.
create table mails (
  id bigint generated always as identity primary key,
  uid uuid not null default gen_random_uuid(),
  client uuid not null,
  user_id bigint not null,
  kind text not null,
  recipient text not null,
  subject text not null,
  -- JSON of the plain and the HTML text, sealed: it may hold a link. Gone once it is sent or given up.
  body text,
  state text not null,
  -- Why it was not sent at the last try, or why it was given up.
  reason text,
  attempts integer not null default 0,
  created_at timestamptz(3) not null default now(),
  -- The next try; while one is under way, when another process takes it for lost.
  next_try_at timestamptz(3) not null default now(),
  -- Its link is worthless after this, or a day went by: then it is given up.
  expires_at timestamptz(3) not null,
  -- When it was sent or given up.
  finished_at timestamptz(3),
  constraint mails_uid_key unique (uid),
  constraint mails_client_fkey foreign key (client) references clients (uid) on delete cascade,
  constraint mails_user_fkey foreign key (user_id) references users (id) on delete cascade,
  constraint mails_kind_check check (kind in ('INVITATION', 'PASSWORD_RESET', 'PASSWORD_CHANGED', 'EMAIL_CHANGED')),
  constraint mails_state_check check (state in ('QUEUED', 'SENT', 'FAILED', 'KEPT')),
  constraint mails_body_check check ((body is not null) = (state in ('QUEUED', 'KEPT'))),
  constraint mails_finished_check check ((finished_at is not null) = (state in ('SENT', 'FAILED')))
);
create index mails_client on mails (client, created_at desc);
create index mails_user on mails (user_id, created_at);
create index mails_created on mails (created_at);
create index mails_due on mails (next_try_at) where state = 'QUEUED';

-- Whoever forgot their password leaves what they typed here, known or not, so that the answer is the same and as fast for
-- everybody. Looked up a moment later, and removed in the same step.
create table forgotten_passwords (
  id bigint generated always as identity primary key,
  typed text not null,
  created_at timestamptz(3) not null default now(),
  request_id text not null,
  address text not null
);

-- Who forgot a password may know only their address.
create index users_email on users (lower(email));
