import SchemaBuilder from '@pothos/core'
import DirectivesPlugin from '@pothos/plugin-directives'
import type { Scope } from '../jobs/permissions.ts'
import type { RequestContext } from '../resolvers/context.ts'

interface SchemaTypes {
  Context: RequestContext
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string }
    DateTime: { Input: Date; Output: Date }
    /** In milliseconds. */
    Duration: { Input: number; Output: number }
    JSON: { Input: unknown; Output: unknown }
    SafeInt: { Input: number; Output: number }
  }
  Directives: {
    requiresScopes: { locations: 'FIELD_DEFINITION' | 'OBJECT'; args: { scopes: Scope[][] } }
    cost: { locations: 'FIELD_DEFINITION' | 'ARGUMENT_DEFINITION'; args: { weight: string } }
    listSize: { locations: 'FIELD_DEFINITION'; args: { assumedSize?: number; slicingArguments?: string[] } }
  }
}

/** The GraphQL schema in the making: each file of this folder adds one noun. Fields are non-null unless they say otherwise. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [DirectivesPlugin],
  // The form in which printSchemaWithDirectives reads them.
  directives: { useGraphQLToolsUnorderedDirectives: true },
  defaultFieldNullability: false,
})

builder.queryType({ description: 'Everything that can be read.' })
builder.mutationType({ description: 'Everything that can be changed. Every change is audited with its actor.' })
builder.subscriptionType({
  description: 'Everything that can be watched, over WebSocket (graphql-transport-ws) or Server-Sent Events.',
})
