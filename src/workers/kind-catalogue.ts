import type { KindOverride } from '../config.ts'
import { StartError } from '../jobs/errors.ts'
import { mergeKindDefaults } from '../jobs/kind-defaults.ts'
import type { JobKind, KindCatalogue } from '../jobs/kind.ts'
import { builtInKinds } from '../jobs/kinds.ts'

/** Every kind that this process knows, by name: the built-in ones and one's own, with what STELLWERK_KIND_<NAME> changes about them. */
export function kindCatalogue(
  ownKinds: readonly JobKind[],
  overrides: Readonly<Record<string, KindOverride>>,
): KindCatalogue {
  const kinds: readonly JobKind[] = [...Object.values(builtInKinds), ...ownKinds]
  return new Map(kinds.map((kind) => [kind.name, overridden(kind, overrides[kind.name])]))
}

function overridden(kind: JobKind, override: KindOverride | undefined): JobKind {
  if (override === undefined) return kind
  const defaults = mergeKindDefaults(kind.defaults, override)
  if (defaults.backoff.baseMs > defaults.backoff.maxMs) {
    throw new StartError(
      `STELLWERK_KIND_${kind.name.toUpperCase()} is wrong at backoff: with it baseMs (${defaults.backoff.baseMs}) is above maxMs (${defaults.backoff.maxMs}). Lower the one or raise the other.`,
    )
  }
  return { ...kind, defaults }
}
