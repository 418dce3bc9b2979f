-- Codes have no control characters and are not blank: the pipeline service cannot read the answer about a client whose code has
-- some. Stored codes of that kind get readable ones, unique by the start of the uid.
update clients set
  code = coalesce(nullif(btrim(left(regexp_replace(code, '[\u0001-\u001f\u007f-\u009f]', '_', 'g'), 16)), ''), 'C') || '-' || left(uid::text, 8),
  version = version + 1, updated_at = now(), updated_by = null
where code ~ '[\u0001-\u001f\u007f-\u009f]' or code !~ '\S';
update clients set
  billing_code = coalesce(nullif(btrim(left(regexp_replace(billing_code, '[\u0001-\u001f\u007f-\u009f]', '_', 'g'), 25)), ''), left(code, 25)),
  version = version + 1, updated_at = now(), updated_by = null
where billing_code ~ '[\u0001-\u001f\u007f-\u009f]' or billing_code !~ '\S';
alter table clients
  add constraint clients_code_check check (code !~ '[\u0001-\u001f\u007f-\u009f]' and code ~ '\S'),
  add constraint clients_billing_code_check check (billing_code !~ '[\u0001-\u001f\u007f-\u009f]' and billing_code ~ '\S');

-- User groups likewise. Their codes are compared ignoring case, as those of clients are: of two that differ by case only, the newer
-- one gets a suffix.
update user_groups set
  code = coalesce(nullif(btrim(left(regexp_replace(code, '[\u0001-\u001f\u007f-\u009f]', '_', 'g'), 240)), ''), 'G') || '-' || left(uid::text, 8),
  version = version + 1, updated_at = now(), updated_by = null
where code ~ '[\u0001-\u001f\u007f-\u009f]' or code !~ '\S';
update user_groups g set
  code = left(g.code, 240) || '-' || left(g.uid::text, 8), version = version + 1, updated_at = now(), updated_by = null
where exists (select from user_groups o where o.client = g.client and lower(o.code) = lower(g.code) and o.id < g.id);
alter table user_groups
  drop constraint user_groups_client_code_key,
  add constraint user_groups_code_check check (code !~ '[\u0001-\u001f\u007f-\u009f]' and code ~ '\S');
create unique index user_groups_client_code_key on user_groups (client, lower(code));
