import {
  getDirectiveValues,
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  Kind,
  type GraphQLResolveInfo,
  type SelectionNode,
} from 'graphql'

/** Whether a field of the resolved type is asked for, directly or in a fragment: for what has to be prepared before. */
export function selects({ fieldNodes, fragments, variableValues }: GraphQLResolveInfo, field: string): boolean {
  const isLeftOut = (selection: SelectionNode): boolean =>
    getDirectiveValues(GraphQLSkipDirective, selection, variableValues)?.if === true ||
    getDirectiveValues(GraphQLIncludeDirective, selection, variableValues)?.if === false
  const asks = (selection: SelectionNode): boolean => {
    if (isLeftOut(selection)) return false
    if (selection.kind === Kind.FIELD) return selection.name.value === field
    const { selectionSet } = selection.kind === Kind.FRAGMENT_SPREAD ? fragments[selection.name.value]! : selection
    return selectionSet.selections.some(asks)
  }
  return fieldNodes.some(({ selectionSet }) => selectionSet?.selections.some(asks) === true)
}
