import { statement } from './statement.ts'

export const setManualTerms = statement<[documentId: string, termIds: readonly string[]], never>(
  'set_manual_terms',
  `-- the terms that a person gives to a document, in place of those given by hand before; one that a rule gave becomes the person's
with dropped as (
  delete from mdm.document_term dt
   where dt.document_id = $1::uuid and dt.source = 'manual' and not (dt.term_id = any ($2::uuid[])))
insert into mdm.document_term as dt (document_id, term_id, source)
select $1::uuid, t, 'manual' from unnest($2::uuid[]) t
on conflict (document_id, term_id) do update set source = 'manual', rule_id = null, score = null where dt.source <> 'manual'`,
)
