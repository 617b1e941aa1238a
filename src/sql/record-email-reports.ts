import { statement } from './statement.ts'

export const recordEmailReports = statement<[provider: string, reportsJson: string], { matched: number }>(
  'record_email_reports',
  `-- what a provider reports of mails it took, by the unique indexes on (provider, provider_message_id) and message_id; a report that was told before changes nothing
with reports as materialized (
  select r.*, array_position(array['delivered', 'bounced', 'complained'], r.type) as weight
    from jsonb_to_recordset($2::jsonb) as r(id text, type text, permanent boolean, detail text)
   where r.permanent),
matched as materialized (
  select distinct on (l.id) l.id, l.tenant_id, l.to_address, r.type, r.weight, r.detail
    from reports r join mdm.aa_email_log l on (l.provider = $1 and l.provider_message_id = r.id) or l.message_id = '<' || r.id || '>'
   order by l.id, r.weight desc),
written as (
  update mdm.aa_email_log l
     set status = m.type, unanswered = 0, final_at = now(), last_error = case when m.type = 'delivered' then null else coalesce(m.detail, m.type) end
    from matched m
   where l.id = m.id and m.weight > coalesce(array_position(array['delivered', 'bounced', 'complained'], l.status), 0)),
suppressed as (
  insert into mdm.aa_email_suppression (tenant_id, address, reason, created_by, detail, source_email_log_id)
  select distinct on (tenant_id, lower(to_address)) tenant_id, lower(to_address), case type when 'bounced' then 'bounce' else 'complaint' end, 'system:email_report', detail, id
    from matched where type <> 'delivered'
   order by tenant_id, lower(to_address), weight desc
  on conflict (tenant_id, address, category) do nothing
  returning id, tenant_id, reason, source_email_log_id),
journaled as (
  insert into mdm.aa_audit_log (tenant_id, action, actor_principal_id, payload)
  select tenant_id, 'suppression_add', 'system:email_report', jsonb_build_object('suppression_id', id, 'reason', reason, 'email_log_id', source_email_log_id)
    from suppressed)
select count(*)::int as matched from matched`,
)
