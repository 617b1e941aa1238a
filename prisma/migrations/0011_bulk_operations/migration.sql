-- Actions on many jobs: what matched when it was asked for is written down at once, and worked off in batches by whichever instance lives.

create table mdm.aa_bulk_operation (
  id uuid primary key default mdm.uuid_v7(),
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  next_at timestamptz not null default now(),
  rate_per_second double precision check (rate_per_second > 0),
  matched int not null default 0 check (matched >= 0),
  succeeded int not null default 0 check (succeeded >= 0),
  skipped int not null default 0 check (skipped >= 0),
  follows_claims boolean not null default false,
  action text not null check (action in ('replay', 'discard', 'cancel', 'stop')),
  status text not null default 'queued' check (status in ('queued', 'running', 'completed', 'cancelled', 'faulted')),
  tenant_ids uuid[] not null,
  created_by text not null,
  created_for text collate "C" not null,
  idempotency_key text collate "C" check (char_length(idempotency_key) between 1 and 255),
  request jsonb not null,
  request_id text,
  reason text,
  error text,
  constraint aa_bulk_operation_end check ((finished_at is null) = (status in ('queued', 'running'))),
  constraint aa_bulk_operation_no_more_than_matched check (succeeded + skipped <= matched)
);
comment on table mdm.aa_bulk_operation is 'An action on many jobs. succeeded + skipped is the place in aa_bulk_target up to which it was done: it goes on there, wherever it was broken off.';
comment on column mdm.aa_bulk_operation.tenant_ids is 'Whose jobs it takes, and so who may see it.';
comment on column mdm.aa_bulk_operation.created_for is 'The tenants that its creator acted for, `*` for all: keys of different scopes are different keys.';
comment on column mdm.aa_bulk_operation.next_at is 'When its next batch is due: how it is spread, and how it leaves room to others.';
create unique index aa_bulk_operation_key on mdm.aa_bulk_operation (created_by, created_for, idempotency_key) where idempotency_key is not null;
create index aa_bulk_operation_due on mdm.aa_bulk_operation (next_at) where status in ('queued', 'running');

-- The jobs that matched, oldest first, each with its revision then: whose revision is another has moved on. A hundred a row, the first of
-- them at `place`: one row each took four times as long to write down.
create table mdm.aa_bulk_target (
  operation_id uuid not null references mdm.aa_bulk_operation on delete cascade,
  place int not null,
  job_ids uuid[] not null,
  revisions int[] not null,
  primary key (operation_id, place),
  constraint aa_bulk_target_pairs check (cardinality(job_ids) = cardinality(revisions) and cardinality(job_ids) between 1 and 100)
);

-- A key that is revoked or robbed of a right, a tenant that is closed, by whatever way: the instances look at once who still may.
create function mdm.signal_rights() returns trigger language plpgsql as $$
begin
  perform pg_notify('mdm_wakeup', 'sql rights');
  return null;
end $$;
create trigger aa_api_key_rights after delete or update of scopes, tenant_ids, expires_at, revoked_at on mdm.aa_api_key
  for each statement execute function mdm.signal_rights();
create trigger aa_tenant_rights after delete or update of status on mdm.aa_tenant for each statement execute function mdm.signal_rights();
