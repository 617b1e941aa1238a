/** A pair of kind and tenant, as maps and the parameters of claims have it. */
export const pairKey = (kind: string, tenantId: string): string => `${kind} ${tenantId}`
