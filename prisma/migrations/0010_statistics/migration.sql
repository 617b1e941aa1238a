-- Statistics: what happened in each minute, rolled up from the journal. No job's transaction touches a counter.

create table mdm.aa_stat_minute (
  tenant_id uuid not null,
  minute timestamptz not null,
  enqueued int not null default 0,
  done int not null default 0,
  errors int not null default 0,
  dead int not null default 0,
  stopped int not null default 0,
  recovered int not null default 0,
  released int not null default 0,
  throttled int not null default 0,
  wait_ms bigint not null default 0,
  run_ms bigint not null default 0,
  pending int,
  running int,
  job_kind text collate "C" not null,
  wait_hist int[],
  run_hist int[],
  primary key (tenant_id, job_kind, minute)
);
-- Reading a span of all tenants, and pruning.
create index aa_stat_minute_time on mdm.aa_stat_minute (minute);
comment on table mdm.aa_stat_minute is 'What happened to jobs of a tenant and kind in a minute. errors: failed attempts (dead ones too); stopped: runs that a stop ended; throttled: releases for want of a token; wait_ms, run_ms: sums.';
comment on column mdm.aa_stat_minute.pending is 'Due jobs when the minute was sampled (aa_stat_sample); null: none.';
comment on column mdm.aa_stat_minute.wait_hist is 'Runs by their wait in milliseconds: below 1, then between the bounds of src/jobs/time-histogram.ts; without trailing zeros.';

-- The minutes of which pending and running were counted: who has no number in such a minute had no job.
create table mdm.aa_stat_sample (minute timestamptz primary key);

-- How far the journal is rolled up: every id up to high but those in gaps, which were not visible yet. Ids are given out before the commit.
create table mdm.aa_stat_cursor (
  single boolean primary key default true check (single),
  high bigint not null default 0,
  gaps int8multirange not null default '{}',
  rolled_at timestamptz
);
comment on column mdm.aa_stat_cursor.rolled_at is 'The time of the newest row that is rolled up.';
insert into mdm.aa_stat_cursor default values;
