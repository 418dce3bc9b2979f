-- Clients that were deleted. The pipeline service asks for them, and erases what it still holds of one 30 days after its deletion.
-- Absence from `clients` would not do as evidence: a database that was restored from an old backup lacks clients too.
create table deleted_clients (
  uid uuid not null,
  code text not null,
  name text not null,
  deleted_at timestamptz(3) not null default now(),
  constraint deleted_clients_pkey primary key (uid)
);
insert into deleted_clients (uid, code, name, deleted_at)
select a.object::uuid, coalesce(a.details #>> '{before,code}', ''), coalesce(a.details #>> '{before,name}', ''), max(a.at)
from audit a
where a.operation = 'clients.delete' and a.object ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
  and not exists (select from clients c where c.uid::text = a.object)
group by 1, 2, 3
on conflict do nothing;
