import { builder } from './builder.ts'

/** As it stands on the job's row. */
type StoredProgress = Readonly<Record<string, unknown>>

const numberOf = (value: unknown): number | null => (typeof value === 'number' && Number.isFinite(value) ? value : null)
const countOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)

export const JobProgressRef = builder.objectRef<StoredProgress>('JobProgress').implement({
  description: 'How far a running job is. The latest report wins; reports are not kept.',
  fields: (t) => ({
    percent: t.float({
      nullable: true,
      description: '0 to 100, if known.',
      resolve: ({ done, total }) => {
        const [part, whole] = [numberOf(done), numberOf(total)]
        return part === null || whole === null || whole <= 0 ? null : Math.min(100, Math.max(0, (part / whole) * 100))
      },
    }),
    current: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'Units done.',
      resolve: ({ done }) => countOf(done),
    }),
    total: t.field({
      type: 'SafeInt',
      nullable: true,
      description: 'Units in all, if known.',
      resolve: ({ total }) => countOf(total),
    }),
    message: t.string({
      nullable: true,
      description: 'What it is doing.',
      resolve: ({ message }) => (typeof message === 'string' ? message : null),
    }),
    data: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Anything else the worker reports.',
      resolve: ({ data }) => data ?? null,
    }),
    updatedAt: t.field({
      type: 'DateTime',
      description: 'When it was reported.',
      resolve: ({ at }) => new Date(at as string | Date),
    }),
  }),
})
