import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLBoolean,
  GraphQLSchema,
  GraphQLString,
  isEnumType,
} from 'graphql'
import { builder } from './builder.ts'
import './scalars.ts'
import './enqueue.ts'
import './job.ts'
import './job-kind.ts'
import './job-update.ts'
import './jobs.ts'
import './tenant.ts'
import './api-key.ts'
import './attachment.ts'
import './audit-log.ts'
import './bulk-operation.ts'
import './concurrency-limit.ts'
import './dead-letter-group.ts'
import './dead-letters.ts'
import './instances.ts'
import './job-metrics.ts'
import './job-moves.ts'
import './queue-pause.ts'
import './queue-stats.ts'
import './rate-limit.ts'
import './service.ts'
import './tenant-control.ts'
import './wait-reason.ts'
import './document.ts'
import './document-workflow.ts'
import './taxonomy-term.ts'
import './email-log.ts'
import './entities.ts'
import './import.ts'
import './entity-type.ts'
import './email-template.ts'
import './suppression.ts'
import './webhook-delivery.ts'
import './webhook-endpoint.ts'
import './webhook-moves.ts'
import './viewer.ts'

const description = `Job control on PostgreSQL: enqueue work, watch it live, and bring failed work back.

Start with \`viewer\` (who am I, what may I do), \`jobs\` (look), \`enqueueJob\` (do) and the \`job\` subscription (watch).
Every object with an \`id\` can be refetched through \`node\`. Times are UTC. Durations are ISO 8601 (\`PT30S\`).`

/** Builds the GraphQL schema; needs no database. */
export function buildSchema(): GraphQLSchema {
  const built = builder.toSchema({ sortSchema: false })
  return new GraphQLSchema({
    ...built.toConfig(),
    description,
    directives: [...built.getDirectives(), ...directivesOf(built)],
  })
}

function directivesOf(schema: GraphQLSchema): GraphQLDirective[] {
  const scope = schema.getType('Scope')
  if (!isEnumType(scope)) throw new Error('The schema has no enum Scope.')
  const strings = new GraphQLList(new GraphQLNonNull(GraphQLString))
  return [
    new GraphQLDirective({
      name: 'requiresScopes',
      description:
        'The caller must hold every scope of at least one inner list. Callers never see, change or hear of jobs outside their tenants.',
      locations: [DirectiveLocation.FIELD_DEFINITION, DirectiveLocation.OBJECT],
      args: {
        scopes: {
          type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(scope))))),
        },
      },
    }),
    new GraphQLDirective({
      name: 'cost',
      description:
        'What one selection of this field adds to the cost of an operation (default: 1 per object, 0 per scalar).',
      locations: [DirectiveLocation.FIELD_DEFINITION, DirectiveLocation.ARGUMENT_DEFINITION],
      args: { weight: { type: new GraphQLNonNull(GraphQLString) } },
    }),
    new GraphQLDirective({
      name: 'listSize',
      description:
        'How many items a list field is charged for: the value of a slicing argument, or else the assumed size.',
      locations: [DirectiveLocation.FIELD_DEFINITION],
      args: {
        assumedSize: { type: GraphQLInt },
        slicingArguments: { type: strings },
        requireOneSlicingArgument: { type: GraphQLBoolean, default: { value: false } },
      },
    }),
  ]
}
