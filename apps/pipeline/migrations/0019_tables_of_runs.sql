-- What a run that ended well left in the warehouse, as the warehouse had it then: [{ schema, name, rows, size }]. Lists of pipelines show it
-- without asking the warehouse. Null of older runs, and of what loads no tables.
alter table runs add column tables jsonb;
