/**
 * The environment of PostgreSQL's programs: none of the caller's PG* variables, locale or secrets, and English messages.
 * TMPDIR says which test run they belong to (infra/test/remove-run-folder.ts).
 */
export const cleanEnvironment = (): NodeJS.ProcessEnv => {
  const { PATH, TMPDIR } = process.env
  return { PATH, TMPDIR, LC_ALL: 'C', TZ: 'UTC' }
}
