import type { UserError } from '../resolvers/user-error.ts'
import { builder } from './builder.ts'
import { JobRef } from './job-ref.ts'

type Of<Type extends UserError['type']> = Extract<UserError, { readonly type: Type }>

const ErrorCodeRef = builder.enumType('ErrorCode', {
  description:
    'Why a mutation did not do what was asked. Authentication, permission, limits and faults are top-level errors instead.',
  values: {
    INVALID: { description: 'Input breaks a rule.' },
    NOT_FOUND: { description: "No such object among the caller's tenants." },
    CONFLICT: { description: 'The object is not in a state that allows this.' },
    IDEMPOTENCY_MISMATCH: { description: 'The key was used before with other input.' },
    LIMIT_EXCEEDED: { description: 'More than allowed.' },
    COUNT_MISMATCH: { description: 'The number of jobs differs from `expectedCount`.' },
  } as const,
})

export const UserErrorRef = builder.interfaceRef<UserError>('UserError').implement({
  description: 'Something the caller can put right. `message` and `code` are enough; the concrete types say more.',
  resolveType: ({ type }) => type,
  fields: (t) => ({
    message: t.exposeString('message', { description: 'For people, in English.' }),
    code: t.expose('code', { type: ErrorCodeRef, description: 'For programs.' }),
    path: t.stringList({ description: 'The input field, as a path from `input`.', resolve: ({ path }) => [...path] }),
  }),
})

builder.objectRef<Of<'ValidationError'>>('ValidationError').implement({
  description: 'Input breaks a rule.',
  interfaces: [UserErrorRef],
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeRef, description: 'Always INVALID.' }),
    pointer: t.exposeString('pointer', { nullable: true, description: 'Where in the payload, as JSON Pointer.' }),
    keyword: t.exposeString('keyword', {
      nullable: true,
      description: 'The broken JSON Schema keyword, e.g. `required`.',
    }),
  }),
})

builder.objectRef<Of<'NotFoundError'>>('NotFoundError').implement({
  description: "No such object among the caller's tenants.",
  interfaces: [UserErrorRef],
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeRef, description: 'Always NOT_FOUND.' }),
    id: t.exposeID('id', { description: 'The id that was not found.' }),
  }),
})

builder.objectRef<Of<'ConflictError'>>('ConflictError').implement({
  description: 'The job has moved on. Look at `job` and decide again.',
  interfaces: [UserErrorRef],
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeRef, description: 'CONFLICT or IDEMPOTENCY_MISMATCH.' }),
    job: t.expose('job', { type: JobRef, description: 'The job as it is now.' }),
  }),
})

builder.objectRef<Of<'LimitError'>>('LimitError').implement({
  description: 'More or fewer than allowed.',
  interfaces: [UserErrorRef],
  fields: (t) => ({
    code: t.expose('code', { type: ErrorCodeRef, description: 'LIMIT_EXCEEDED or COUNT_MISMATCH.' }),
    limit: t.expose('limit', { type: 'SafeInt', description: 'The limit or the expected number.' }),
    actual: t.expose('actual', { type: 'SafeInt', description: 'The number found.' }),
  }),
})

type FieldsOf<Parent> = PothosSchemaTypes.ObjectFieldBuilder<typeof builder.$inferSchemaTypes, Parent>

/** The field `errors` of a mutation's result. */
export function errorsOf<Result extends { readonly errors: readonly UserError[] }>(
  t: FieldsOf<Result>,
  description = 'What stood in the way.',
) {
  return t.field({ type: [UserErrorRef], description, resolve: ({ errors }) => [...errors] })
}
