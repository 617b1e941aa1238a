import { Kind, type GraphQLResolveInfo, type SelectionNode } from 'graphql'

/** Whether a field of the resolved type is asked for, directly or in a fragment: for what has to be prepared before. */
export function selects({ fieldNodes, fragments }: GraphQLResolveInfo, field: string): boolean {
  const asks = (selection: SelectionNode): boolean => {
    if (selection.kind === Kind.FIELD) return selection.name.value === field
    const { selectionSet } = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value]! : selection
    return selectionSet.selections.some(asks)
  }
  return fieldNodes.some(({ selectionSet }) => selectionSet?.selections.some(asks) === true)
}
