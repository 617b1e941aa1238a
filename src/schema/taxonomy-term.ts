import { listTaxonomyTerms } from '../resolvers/list-taxonomy-terms.ts'
import type { TaxonomyRuleRow, TaxonomyTermRow } from '../resolvers/rows.ts'
import { setTaxonomyTerm, type TaxonomyTermResult } from '../resolvers/set-taxonomy-term.ts'
import { builder } from './builder.ts'
import { NodeRef } from './node.ts'
import { errorsOf } from './user-error.ts'

const TaxonomyMatchRef = builder.enumType('TaxonomyMatch', {
  description: 'How a rule looks at the text.',
  values: {
    ANY: { value: 'any', description: 'Any of the words.' },
    ALL: { value: 'all', description: 'All of the words.' },
    EXACT: { value: 'exact', description: 'The exact phrase.' },
    REGEX: { value: 'regex', description: "A regular expression (PostgreSQL's)." },
    FUZZY: { value: 'fuzzy', description: 'Nearly the words.' },
  } as const,
})

const TaxonomyRuleRef = builder.objectRef<TaxonomyRuleRow>('TaxonomyRule').implement({
  description: 'A rule that gives a term.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `rule_${id}` }),
    match: t.expose('match', { type: TaxonomyMatchRef, description: 'How it looks.' }),
    pattern: t.exposeString('pattern', { description: 'What it looks for.' }),
    enabled: t.exposeBoolean('enabled', { description: 'Whether it is in force.' }),
  }),
})

export const TaxonomyTermRef = builder.objectRef<TaxonomyTermRow>('TaxonomyTerm').implement({
  description: 'A term of the taxonomy.',
  interfaces: [NodeRef],
  fields: (t) => ({
    id: t.id({ description: 'Node id.', resolve: ({ id }) => `term_${id}` }),
    path: t.exposeString('path', { description: 'Its place, e.g. `finance/invoice`.' }),
    name: t.exposeString('name', { description: 'Display name.' }),
    rules: t.field({
      type: [TaxonomyRuleRef],
      description: 'Its rules.',
      directives: [{ name: 'listSize', args: { assumedSize: 20 } }],
      resolve: ({ rules }) => [...rules],
    }),
  }),
})

builder.queryField('taxonomyTerms', (t) =>
  t.field({
    type: [TaxonomyTermRef],
    description: 'Terms of the taxonomy.',
    directives: [
      { name: 'listSize', args: { assumedSize: 100 } },
      { name: 'requiresScopes', args: { scopes: [['READ_JOBS']] } },
    ],
    args: { tenantId: t.arg.id() },
    resolve: (_, args, context) => listTaxonomyTerms(args, context),
  }),
)

const TaxonomyRuleInputRef = builder.inputType('TaxonomyRuleInput', {
  description: 'A rule.',
  fields: (t) => ({
    match: t.field({ type: TaxonomyMatchRef, required: true, description: 'How it looks.' }),
    pattern: t.string({ required: true, description: 'What it looks for.' }),
    enabled: t.boolean({ required: true, defaultValue: true, description: 'Whether it is in force.' }),
  }),
})

const TaxonomyTermInputRef = builder.inputType('TaxonomyTermInput', {
  description: 'A term with its rules, to create or change by path.',
  fields: (t) => ({
    tenantId: t.id({ description: 'Its tenant.' }),
    path: t.string({ required: true, description: 'Its place.' }),
    name: t.string({ required: true, description: 'Display name.' }),
    rules: t.field({ type: [TaxonomyRuleInputRef], required: true, description: 'All its rules.' }),
  }),
})

const TaxonomyTermPayloadRef = builder.objectRef<TaxonomyTermResult>('TaxonomyTermPayload').implement({
  description: 'Result of a change to a term.',
  fields: (t) => ({
    term: t.expose('term', { type: TaxonomyTermRef, nullable: true, description: 'The term as it is now.' }),
    errors: errorsOf(t),
  }),
})

builder.mutationField('setTaxonomyTerm', (t) =>
  t.field({
    type: TaxonomyTermPayloadRef,
    description: 'Create or change a term and its rules.',
    directives: [
      { name: 'cost', args: { weight: '10' } },
      { name: 'requiresScopes', args: { scopes: [['MANAGE_METADATA']] } },
    ],
    args: { input: t.arg({ type: TaxonomyTermInputRef, required: true }) },
    resolve: (_, { input }, context) => setTaxonomyTerm(input, context),
  }),
)
