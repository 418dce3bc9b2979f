-- A worker gives every reader the settings, the roles and the limit of connections of this version.
update warehouse_readers set pending = true;
