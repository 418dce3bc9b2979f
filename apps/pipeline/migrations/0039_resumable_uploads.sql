-- Uploads by tus, which may take several requests and processes. The bytes are in the file `uid` of the uploads directory, which no run
-- reads before a row in uploaded_files references it. A finished upload stays for a while, for clients that lost the last response.
create table resumable_uploads (
  uid uuid not null,
  pipeline_id bigint not null,
  client uuid not null,
  -- The only user who may see, continue and delete the upload.
  created_by uuid not null,
  name text not null,
  -- The header Upload-Metadata of the creation, which later responses repeat.
  metadata text,
  -- The announced bytes of the file. They count in the files limit of the client until the upload is finished or removed.
  length bigint not null,
  -- Bytes that are durable. The last byte counts only when the file has replaced that of the pipeline: a client that lost the response
  -- then sends the last byte again, and gets the result.
  received bigint not null default 0,
  created_at timestamptz(3) not null default now(),
  -- The last time that bytes arrived. Uploads expire some time after it.
  touched_at timestamptz(3) not null default now(),
  -- The request that holds the upload, of any process. A lease that is not renewed belongs to a process that has died.
  lease uuid,
  leased_until timestamptz(3),
  -- Another request waits for the lease, usually because its client has lost the connection of the request that holds it.
  release_requested boolean not null default false,
  finished_at timestamptz(3),
  -- The response to the upload when it is finished.
  result jsonb,
  constraint resumable_uploads_pkey primary key (uid),
  constraint resumable_uploads_pipeline_fkey foreign key (pipeline_id) references data_pipelines (id) on delete cascade,
  constraint resumable_uploads_received_check check (received >= 0 and (received < length or finished_at is not null)),
  constraint resumable_uploads_lease_check check ((lease is null) = (leased_until is null)),
  constraint resumable_uploads_result_check check ((result is null) = (finished_at is null))
);
create index resumable_uploads_pipeline_id on resumable_uploads (pipeline_id);
create index resumable_uploads_client on resumable_uploads (client);
create index resumable_uploads_touched_at on resumable_uploads (touched_at);
