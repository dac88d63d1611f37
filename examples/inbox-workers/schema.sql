create table emails (email_id text primary key, delivered integer not null);
create table dead_letters (error text not null, attempts integer, job text not null);
