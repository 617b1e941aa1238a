import type { CodegenConfig } from '@graphql-codegen/cli'

/** Types of the operations that the client package sends and offers, from the printed schema. */
const config: CodegenConfig = {
  schema: 'schema.graphql',
  documents: ['client/src/operations.graphql', 'src/server/preset-operations.graphql'],
  generates: {
    'client/src/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: {
        documentMode: 'string',
        enumsAsTypes: true,
        importExtension: '.ts',
        emitLegacyCommonJSImports: false,
        useTypeImports: true,
        strictScalars: true,
        scalars: { DateTime: 'string', Duration: 'string', JSON: 'unknown', SafeInt: 'number' },
      },
    },
  },
}

export default config
