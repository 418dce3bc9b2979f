import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pc from 'picocolors'
import { root } from '../paths.ts'
import { UserError, reportFailure } from '../user-error.ts'
import { startTemporaryPostgres } from '../test/temporary-postgres.ts'
import {
  type Artefact,
  generateDatabaseTypes,
  compileCsvScanner,
  compileJsonScanner,
  compileTableProfiler,
  generateLockFile,
  generateOpenapi,
} from './generated-files.ts'
import { generateClientModules } from './client-modules.ts'
import { generateConformancePage } from './conformance-page.ts'
import { generateProblemsPage } from './problems-page.ts'
import { generateRolesPage } from './roles-page.ts'
import { generateSearchPage } from './search-page.ts'

/**
 * `npm run generate` writes all generated files: the OpenAPI documents, the database types, the operations and types of
 * packages/client, the pages of problems, roles, search properties and conformance, the compiled AssemblyScript, and
 * the platforms of the lock file. With `--check`, it only lists the files that differ, and exits with 1 if there are
 * any.
 */

const APPS = ['identity', 'pipeline']

const generateArtefacts = async (): Promise<Artefact[]> => {
  await using postgres = await startTemporaryPostgres()
  const outcomes = await Promise.allSettled([
    generateLockFile(),
    compileCsvScanner(),
    compileJsonScanner(),
    compileTableProfiler(),
    Promise.try(generateProblemsPage),
    Promise.try(generateRolesPage),
    Promise.try(generateSearchPage),
    Promise.try(generateConformancePage),
    ...generateClientModules().map((module) => Promise.resolve(module)),
    ...APPS.flatMap((app) => [generateOpenapi(app), generateDatabaseTypes(app, postgres)]),
  ])
  // PostgreSQL must keep running until all of them have ended, also if one failed.
  return outcomes.map((outcome) => {
    if (outcome.status === 'rejected') throw outcome.reason
    return outcome.value
  })
}

const generate = async (onlyCheck: boolean): Promise<void> => {
  const outdated: string[] = []
  for (const { file, content } of await generateArtefacts()) {
    const committed = await readFile(join(root, file)).catch(() => undefined)
    if (committed?.equals(Buffer.from(content))) continue
    outdated.push(file)
    if (!onlyCheck) await writeFile(join(root, file), content)
  }
  if (!onlyCheck)
    console.log(
      outdated.length > 0 ? `Written: ${outdated.join(', ')}.` : pc.dim('All generated files are up to date.'),
    )
  else if (outdated.length > 0) {
    throw new UserError(`Out of date: ${outdated.join(', ')}. Run "npm run generate" and commit the result.`)
  }
}

await generate(process.argv.includes('--check')).catch(reportFailure)
