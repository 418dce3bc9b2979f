/**
 * Returns the environment for PostgreSQL's programs: without the caller's PG* variables, locale and secrets, and with
 * English messages. TMPDIR identifies the test run (infra/test/remove-run-folder.ts).
 */
export const cleanEnvironment = (): NodeJS.ProcessEnv => {
  const { PATH, TMPDIR } = process.env
  return { PATH, TMPDIR, LC_ALL: 'C', TZ: 'UTC' }
}
