-- Bytes that uploads under way reserve in the files limit of their client, whichever API process receives them. A process renews its
-- rows; a row that is not renewed belongs to a process that has died.
create table running_uploads (
  uid uuid not null,
  client uuid not null,
  bytes bigint not null,
  renewed_at timestamptz(3) not null default now(),
  constraint running_uploads_pkey primary key (uid)
);
create index running_uploads_client on running_uploads (client);
create index running_uploads_renewed_at on running_uploads (renewed_at);
