-- Lists come in the order of names, and pieces of text are looked up by trigrams, in lower case as pg_c_utf8 makes it, the
-- same on every machine. Expressions rather than columns: what is only for searching is in nobody's row.
create extension if not exists pg_trgm;

create index data_pipelines_search on data_pipelines using gin (
  lower((name || e'\n' || table_name || e'\n' || coalesce(description, '')) collate pg_c_utf8) gin_trgm_ops)
  with (fastupdate = off);
create index data_pipelines_client_name on data_pipelines (client, lower(name), uid);
create index data_pipelines_schema on data_pipelines (schema_id);
create index views_client_name on views (client, lower(name), uid);
create index workflows_client_name on workflows (client, lower(name), uid);
create index destinations_client_name on destinations (client, lower(name), uid);
create index data_quality_checks_client_name on data_quality_checks (client, lower(name), uid);
create index data_quality_check_groups_client_name on data_quality_check_groups (client, lower(name), uid);
