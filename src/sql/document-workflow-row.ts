/** A workflow as it is read. */
export interface DocumentWorkflowRow {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly conditions: unknown
  readonly actions: unknown
  readonly enabled: boolean
}

/** The select list that makes a DocumentWorkflowRow of the alias `w`. */
export const documentWorkflowRowColumns = `w.id, w.tenant_id as "tenantId", w.name, w.conditions, w.actions, w.enabled`
