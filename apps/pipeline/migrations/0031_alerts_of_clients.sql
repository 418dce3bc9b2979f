-- The mails of one client within the last hour are counted before the next one is written.
create index alerts_client on alerts (client, created_at) where channel = 'MAIL';
