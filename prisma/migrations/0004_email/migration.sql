-- What email_send writes: one log row a job (the anchor against doubles), the suppression list, stored templates.

create table mdm.aa_email_log (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  -- One row a job; no foreign key, so that history never blocks a job's deletion.
  job_id uuid not null unique,
  created_at timestamptz not null default now(),
  status text not null check (status in ('sending', 'sent', 'suppressed', 'rejected', 'failed', 'unknown', 'delivered', 'bounced', 'complained')),
  attempts int not null default 0,
  message_id text not null unique,
  provider text not null,
  provider_message_id text,
  to_address text not null,
  from_address text,
  subject text,
  template_key text,
  category text not null default 'transactional' check (category in ('transactional', 'notification', 'bulk')),
  smtp_code int,
  enhanced_code text,
  response text,
  last_error text,
  first_attempt_at timestamptz,
  sent_at timestamptz,
  final_at timestamptz,
  unique (provider, provider_message_id)
);
create index aa_email_log_newest on mdm.aa_email_log (tenant_id, id);

create table mdm.aa_email_suppression (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid not null references mdm.aa_tenant,
  address text not null check (address = lower(address)),
  category text not null default '*' check (category in ('*', 'transactional', 'notification', 'bulk')),
  reason text not null check (reason in ('bounce', 'complaint', 'unsubscribe', 'manual')),
  created_by text,
  note text,
  detail text,
  source_email_log_id uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  unique (tenant_id, address, category)
);
comment on table mdm.aa_email_suppression is 'Addresses that get no email. Rows of the tenant platform hold for every tenant.';

create table mdm.aa_email_template (
  id uuid primary key default mdm.uuid_v7(),
  tenant_id uuid references mdm.aa_tenant,
  template_key text not null,
  locale text not null,
  version int not null default 1,
  subject text not null,
  text_body text not null,
  html_body text,
  required_vars text[] not null default '{}',
  created_at timestamptz not null default now(),
  created_by text,
  unique nulls not distinct (tenant_id, template_key, locale, version)
);
