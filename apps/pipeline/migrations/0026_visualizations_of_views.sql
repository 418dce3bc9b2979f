-- A dashboard elsewhere that shows the view, as its owner noted it.
alter table views
  add column visualization_id bigint,
  add column visualization_href text;
