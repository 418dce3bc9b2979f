-- The values in configurations that were compared with stored secrets within the last hour. `digest` is an HMAC of the object, the stored
-- and the given value: comparing the same two again tells nothing new and is not counted again.
create table secret_comparisons (
  client uuid not null,
  user_uid uuid not null,
  digest text not null,
  differed boolean not null,
  compared_at timestamptz(3) not null default now(),
  constraint secret_comparisons_pkey primary key (client, user_uid, digest)
);
