import { statement } from './statement.ts'

export const addWorkflowTerm = statement<[documentId: string, path: string], { termId: string }>(
  'add_workflow_term',
  `-- a workflow gives a term of the document's tenant; no row: there is no such term
insert into mdm.document_term as dt (document_id, term_id, source)
select d.id, t.id, 'workflow' from mdm.documents d join mdm.taxonomy_term t on t.tenant_id = d.tenant_id and t.path = $2
 where d.id = $1::uuid
on conflict (document_id, term_id) do update set source = case when dt.source = 'manual' then 'manual' else 'workflow' end
returning term_id as "termId"`,
)
