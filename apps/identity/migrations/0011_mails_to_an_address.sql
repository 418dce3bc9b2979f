-- How many mails an address was sent lately is asked before it is sent another.
create index mails_recipient_created on mails (lower(recipient), created_at);
