/** PostgreSQL's programs see none of the caller's PG* variables, locale or secrets, and write their messages in English. */
export const cleanEnvironment = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' })
