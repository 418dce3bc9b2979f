-- Why a view is not in the warehouse yet: a table that it reads is not there. It is built once the table is. Null for all others.
alter table views add column pending text;
create index views_pending_idx on views (client) where pending is not null;
