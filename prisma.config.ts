import { defineConfig } from 'prisma/config'

// Each of Prisma's commands first looks for its schema engine and would download it; what the project uses of Prisma
// never runs it, so any file that exists will do. One that fails when it is run is best: then nothing seems to work.
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  datasource: { url: process.env.DATABASE_URL ?? 'postgresql://unused' },
})
