-- Set where somebody reset the cursor of a pipeline: `{}` reads everything once, `{"from": …}` what has changed since. The run that has done so
-- takes it away again, unless it was set anew meanwhile.
alter table data_pipelines add column cursor_reset jsonb;
