-- A code tells a check from the others of its client. It may be empty, of any number of them.
alter table data_quality_checks drop constraint data_quality_checks_client_code_key;
create unique index data_quality_checks_client_code_key on data_quality_checks (client, code) where code <> '';

-- What a run was given that nobody may see again: sealed, and only until the run has ended.
alter table runs add column sealed_input text;

create function forget_sealed_input() returns trigger language plpgsql as $$
begin
  new.sealed_input := null;
  return new;
end $$;

create trigger runs_sealed_input_forgotten before update on runs
  for each row when (new.sealed_input is not null and new.finished_at is not null)
  execute function forget_sealed_input();
