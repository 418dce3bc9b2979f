-- The domain PUBLIC_DATASET_CATALOG lets a client publish public datasets. Until now its role alone did. The first client of an
-- installation gets it here; the clients that published before get it from the pipeline service, which knows them.
update clients set domain = 'PUBLIC_DATASET_CATALOG', version = version + 1, updated_at = now(), updated_by = null
where id = (select min(id) from clients) and domain = 'REGULAR';
